# The C types of commands/eviction/eviction.py.

from commands.connection.client_memory cimport ClientMemory
from commands.core.instance cimport Instance


cdef class MemoryUse:
    cdef Instance _instance
    cdef list _databases
    cdef public long startup_bytes
    cdef ClientMemory _clients
    cdef public long rest_bytes
    cdef public long peak_bytes
    cdef public long peak_ms

    cpdef long update(self)
    cpdef long used_bytes(self)
