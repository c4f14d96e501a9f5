# The C types of server/requests/propagation.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request


cdef class Propagation:
    cdef Instance _instance
    cdef public list unit
    cdef Py_ssize_t _db
    cdef Py_ssize_t _first_db
    cdef bint _has_messages
    cdef public long held

    cpdef collect(self, Client client, Request request, bint is_outermost, bint changed)
    cpdef add(self, Py_ssize_t db_index, list requests)
