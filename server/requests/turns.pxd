# The C types of server/requests/turns.py.

from commands.core.client cimport Client


cdef class Turns:
    cdef public dict _postponed
    cdef public dict _yielded
    cdef public dict _resuming

    cpdef bint is_halted(self, Client client)
    cpdef bint is_postponed(self, Client client)
    cpdef give_way(self, Client client)
    cpdef bint has_given_way(self, Client client)
    cpdef list take_resuming(self)
