# The C types of commands/core/blocked_clients.py.




cdef class BlockedClients:
    cdef dict __dict__
    cdef public dict waiters
    cdef public dict clients
