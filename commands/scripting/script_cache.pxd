# The C types of commands/scripting/script_cache.py.


cdef class Script:
    cdef public bytes sha
    cdef public bytes body
    cdef public object function
    cdef public object flags
    cdef public bint has_shebang
    cdef public bint is_loaded


cdef class ScriptCache:
    cdef public long long evicted
    cdef public long long body_bytes
    cdef object _compile
    cdef dict _scripts
    cdef dict _evaluated

    cpdef Script find(self, bytes sha)
