# The C types of storage/chance.py.

cdef class Chance:
    cdef unsigned long long _state

    cpdef Py_ssize_t below(self, Py_ssize_t limit)
