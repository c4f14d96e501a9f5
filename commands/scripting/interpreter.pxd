# The C types of commands/scripting/interpreter.py.

cdef class Interpreter:
    cdef object _lua
    cdef object _native
    cdef object _compile
    cdef object _run_script
    cdef object _run_script_long
    cdef object _run_function
    cdef object _run_function_long
    cdef object _collect
    cdef object _sethook
    cdef object _early_hook
    cdef object _table_from
    cdef object _used
    cdef long long _limit_bytes
    cdef long long _collect_at_bytes

    cpdef bint has_room(self, long long size_bytes)
    cpdef object run_script(self, object function, int resp, list keys, list rest)
    cpdef object run_function(self, object function, int resp, list keys, list rest)
    cdef bint _are_few(self, list texts)
    cdef object _run(self, object run, tuple arguments)
