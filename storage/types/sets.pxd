# The C types of storage/types/sets.py.

from libc.math cimport nextafter
from storage.memory cimport bytes_object_bytes
from storage.types.few_records cimport (
    find_packed,
    packed,
    packed_records,
    place_at,
    rank_at,
    rank_before,
    record_at,
    score_at,
    with_record,
    without_ranks,
)
from storage.types.packed_table cimport PackedTable
from storage.types.records cimport (
    RecordOrder,
    RecordTable,
    make_record,
    member_of,
    score_of,
)
from storage.types.value cimport Value


cdef tuple _ENCODINGS
cdef unsigned char _INTSET
cdef unsigned char _LISTPACK
cdef unsigned char _HASHTABLE


cdef class SetValue(PackedTable):
    cdef _take_form(self, unsigned char form)
    cdef list _sorted(self, list[bytes] members)
    cpdef expect(self, Py_ssize_t count, object limits)
    cpdef bint add(self, bytes member, object limits) except -1
    cpdef bint remove(self, bytes member) except -1
    cdef _adapt_to(self, bytes member, object limits)


cdef tuple _SCORED_ENCODINGS
cdef unsigned char _FEW
cdef unsigned char _MANY
cdef Py_ssize_t _FEW_MEMBERS
cdef Py_ssize_t _MOST_RECORD_BYTES
cdef double _INFINITY
cdef long _SORTED_SET_BYTES


cdef class SortedSetValue(Value):
    cdef bytes _few
    cdef readonly RecordOrder _order
    cdef readonly RecordTable _table

    cdef Py_ssize_t _count(self) noexcept
    cdef _unpack(self)
    cdef _remove_packed(self, Py_ssize_t place)
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
cdef RecordOrder _order_of(list records)
cdef bytes _without_sign(bytes record)
cdef bint _is_small(Py_ssize_t count, Py_ssize_t longest, object limits) except -1
