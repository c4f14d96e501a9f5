# The C types of commands/sorted_sets/algebra.py.

from storage.types.records cimport make_record, member_of, RecordTable, score_of
from storage.types.sets cimport SortedSetValue


cdef int _SUM
cdef int _MIN
cdef int _MAX


cdef class _Source:
    cdef SortedSetValue _scored
    cdef object _plain
    cdef readonly Py_ssize_t size
    cdef public double weight
    cdef public double found
    cdef public bint is_counted

    cpdef list records(self)
    cpdef bint find(self, bytes member) except -1
    cdef double _weighted(self, bytes record) noexcept
