"""Scripts and libraries of functions in Lua: the interpreter, its sandbox, the commands."""
