# The C types of commands/core/blocked_clients.py.

from commands.core.client cimport Client


cdef int _BLOCK
cdef int _RESUME


cdef class BlockedClients:
    cdef dict __dict__
    cdef public dict waiters
    cdef public dict clients
    cdef list _spare
