# The C types of storage/keyspace/creation_order.py.

from cpython.array cimport array
from storage.keyspace.key_records cimport code_of_key
from storage.keyspace.key_table cimport KeyTable
from storage.keyspace.ordered_index cimport Chance, OrderedIndex
from storage.memory cimport array_bytes, list_bytes


cdef Py_ssize_t _SLOTS
cdef Py_ssize_t _FEW
cdef long _OWN_BYTES
cdef long _BLOCK_BYTES


cdef inline unsigned long long* codes_of(array numbers) noexcept:
    return numbers.data.as_ulonglongs


cdef class KeyBlock:
    cdef public long first
    cdef public Py_ssize_t count
    cdef readonly array codes


cdef class CreationOrder:
    cdef KeyTable _table
    cdef list _blocks
    cdef KeyBlock _recent
    cdef readonly OrderedIndex rest
    cdef Py_ssize_t _count

    cdef KeyBlock _find(self, long serial)
    cdef Py_ssize_t _index_of(self, long serial) noexcept
    cpdef bytes get(self, long serial)
    cpdef append(self, long serial, bytes key)
    cpdef extend(self, long serial, list[bytes] keys)
    cpdef remove(self, long serial)
    cdef _give_up(self, Py_ssize_t index)
    cpdef bytes random_key(self, Chance chance)
