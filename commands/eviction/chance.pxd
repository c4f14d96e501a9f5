# The C types of commands/eviction/chance.py.

cdef class Chance:
    cdef unsigned long long _state

    cpdef Py_ssize_t below(self, Py_ssize_t limit)
