# The C types of server/requests/propagation.py.

cdef class Propagation:
    cdef object _instance
    cdef public list unit
    cdef Py_ssize_t _db
    cdef Py_ssize_t _first_db
    cdef bint _has_messages
    cdef public long held
