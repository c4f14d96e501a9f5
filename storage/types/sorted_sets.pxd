# The C types of storage/types/sorted_sets.py.

from storage.types.prefetch cimport prefetch
from storage.types.value cimport Value


cdef class SortedSetValue(Value):
    cdef public bytes _encoding
    cdef public dict _scores
    cdef public object _order
    cdef object _scan_order

    cpdef expect(self, Py_ssize_t count, object limits)
    cpdef object score(self, bytes member)
    cpdef set(self, bytes member, double score, object limits)
