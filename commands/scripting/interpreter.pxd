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
    cdef object _table_from
    cdef object _used
    cdef long long _limit_bytes
    cdef long long _collect_at_bytes

    cpdef bint has_room(self, long long size_bytes)
