# The C types of storage/types/scored/record_order.py.

from cpython.array cimport array as Numbers

from storage.object_size cimport array_bytes, list_bytes
from storage.types.scored.record cimport is_before, member_of, place_of


cdef Py_ssize_t _PART_RECORDS
cdef Py_ssize_t _SPARSE_RECORDS
cdef long long _OWN_BYTES


cdef class RecordOrder:
    cdef readonly Py_ssize_t count
    cdef list _parts
    cdef long long _parts_bytes
    cdef list _firsts
    cdef Numbers _counts

    cpdef fill(self, list records)
    cdef _set_parts(self, list parts)
    cdef _measure_parts(self)
    cpdef add(self, bytes record)
    cpdef remove(self, bytes record)
    cpdef replace(self, bytes record, bytes new)
    cdef _divide(self, Py_ssize_t index, Py_ssize_t place)
    cdef _join(self, Py_ssize_t index)
    cpdef list remove_span(self, Py_ssize_t start, Py_ssize_t end)
    cdef Py_ssize_t _part_of(self, bytes record) noexcept
    cpdef Py_ssize_t rank_of(self, bytes record) except -1
    cdef Py_ssize_t _rank_before(self, Py_ssize_t index) noexcept
    cpdef Py_ssize_t rank_where(self, object holds) except -1
    cpdef bytes at(self, Py_ssize_t rank)
    cpdef list records(self, Py_ssize_t start, Py_ssize_t end)
    cpdef list first_part(self)
    cpdef list take_parts(self)
    cpdef long long memory_bytes(self)


cdef int* _lengths(RecordOrder order) noexcept
