# The C types of storage/types/sets.py.

from libc.math cimport nextafter
from storage.memory cimport bytes_object_bytes
from storage.types.packed_table cimport PackedTable
from storage.types.records cimport (
    RecordOrder,
    RecordTable,
    find_member,
    make_record,
    member_of,
    score_of,
)
from storage.types.value cimport Value


cdef class SetValue(PackedTable):
    cdef public bytes _encoding

    cdef _set_encoding(self, bytes encoding)
    cdef list _sorted(self, list[bytes] members)
    cpdef expect(self, Py_ssize_t count, object limits)
    cpdef bint add(self, bytes member, object limits) except -1
    cpdef bint remove(self, bytes member) except -1
    cdef _adapt_to(self, bytes member, object limits)


cdef Py_ssize_t _FEW_MEMBERS
cdef double _INFINITY
cdef long _SORTED_SET_BYTES


cdef class SortedSetValue(Value):
    cdef public bytes _encoding
    cdef readonly RecordOrder _order
    cdef readonly RecordTable _table

    cpdef expect(self, Py_ssize_t count, object limits)
    cpdef bytes find(self, bytes member)
    cpdef object score(self, bytes member)
    cpdef bytes at(self, Py_ssize_t rank)
    cpdef list records(self, Py_ssize_t start, Py_ssize_t end)
    cpdef list unordered(self)
    cpdef Py_ssize_t rank_from(self, double score, bint is_after) except -1
    cpdef set(self, bytes member, double score, object limits)
    cpdef put(self, bytes record, bytes former, object limits)
    cpdef bint remove(self, bytes member) except -1


cdef RecordTable _table_of(list records)
cdef bytes _without_sign(bytes record)
cdef bint _is_small(Py_ssize_t count, Py_ssize_t longest, object limits) except -1
