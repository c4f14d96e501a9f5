# The C types of commands/scripting/interpreter.py.

from commands.scripting.crossing cimport Caller, Compiled, Crossing


cdef class HostFunctions(Caller):
    cdef public bytes version
    cdef public long version_number


cdef class Interpreter:
    cdef object _lua
    cdef object _native
    cdef object _compile
    cdef object _collect
    cdef object _sethook
    cdef object _early_hook
    cdef Crossing _crossing
    cdef long long _limit_bytes
    cdef long long _collect_at_bytes

    cpdef bint has_room(self, long long size_bytes)
    cpdef object run_script(self, Compiled function, int resp, list keys, list rest)
    cpdef object run_function(self, Compiled function, int resp, list keys, list rest)
    cdef object _run(self, Compiled function, bint is_script, int resp, list keys, list rest)


cdef Py_ssize_t _memory_of(list texts)
