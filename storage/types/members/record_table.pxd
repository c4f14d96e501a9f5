# The C types of storage/types/members/record_table.py.

from cpython.array cimport array

from storage.object_size cimport array_bytes, bytes_object_bytes, list_bytes
from storage.types.prefetch cimport prefetch
from storage.types.members.key_part cimport has_key, hash_of, key_length, key_start, slots_of, zeros


cdef Py_ssize_t _FEW
cdef int _LEAST_BITS
cdef Py_ssize_t _STEP
cdef array _NO_SLOTS
cdef long long _OWN_BYTES


cdef class RecordTable:
    cdef readonly list _records
    cdef array _index
    cdef array _former
    cdef Py_ssize_t _kind
    cdef long long _records_bytes
    cdef Py_ssize_t _room
    cdef Py_ssize_t _left
    cdef int _bits
    cdef int _former_bits

    cpdef bytes get(self, bytes key)
    cpdef list records(self)
    cpdef bytes put(self, bytes record)
    cpdef bytes remove(self, bytes key)
    cpdef put_all(self, list[bytes] records)
    cpdef discard_all(self, list[bytes] records)
    cdef bytes _remove_at(self, Py_ssize_t place)
    cpdef reserve(self, Py_ssize_t count)
    cpdef RecordTable selected(self, list[bytes] records)
    cpdef long long memory_bytes(self)

    cdef Py_ssize_t _find(self, bytes key) except -2
    cdef Py_ssize_t _place(
        self, bytes text, Py_ssize_t start, Py_ssize_t length, unsigned long long code
    ) except -2
    cdef Py_ssize_t _place_in(
        self, array index, int bits, bytes text, Py_ssize_t start, Py_ssize_t length,
        unsigned long long code
    ) noexcept
    cdef void _enter(self, unsigned long long code, Py_ssize_t number) noexcept
    cdef int _move(self, bytes record, Py_ssize_t number, Py_ssize_t new) except -1
    cdef unsigned long long _code_of(self, bytes record) except? 0
    cdef int _enter_some(self, Py_ssize_t count) except -1
    cdef int _renew(self, Py_ssize_t more) except -1
