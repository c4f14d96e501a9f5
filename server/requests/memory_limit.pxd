# The C types of server/requests/memory_limit.py.

from commands.core.instance cimport Instance
from commands.eviction.eviction cimport MemoryUse


cdef class MemoryLimit:
    cdef Instance _instance
    cdef object _eviction
    cdef MemoryUse _memory
    cdef public bint is_behind

    cpdef check(self)
