# The C types of storage/groups/tally.py.

cdef class Tally:
    cdef readonly long long total_bytes
    cdef Tally _whole

    cpdef add(self, long long number)
    cpdef join(self, Tally whole)
    cpdef leave(self)
