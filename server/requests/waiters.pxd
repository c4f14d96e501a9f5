# The C types of server/requests/waiters.py.

from commands.core.client cimport Client


cdef int _POSTPONE
cdef int _RESUME
cdef int _YIELD
cdef int _GO_ON
cdef long _AUTH


cdef class ClientQueues:
    cdef public dict _postponed
    cdef public dict _yielded
    cdef public dict strangers
    cdef public dict _resuming

    cpdef resume(self, Client client)
    cpdef add_yielded(self, Client client)
    cpdef list take_resuming(self)
