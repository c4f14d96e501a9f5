# The C types of storage/keyspace/database.py.

from storage.keyspace.creation_order cimport CreationOrder
from storage.keyspace.deadlines cimport Deadlines
from storage.keyspace.key_table cimport KeyTable
from storage.keyspace.ordered_index cimport OrderedIndex
from storage.types.value cimport Value


cdef class MemoryCount:
    cdef public long bytes
    cdef readonly list _noted
    cdef KeyTable _table

    cpdef note(self, Value value)
    cpdef settle(self)
    cpdef add(self, Value value)
    cpdef exchange(self, Value old, Value new)
    cpdef subtract(self, Value value)
    cdef _drop(self, Value value)
    cdef _settle_older(self, Py_ssize_t recent)


cdef class Database:
    cdef public Py_ssize_t index
    cdef public KeyTable values
    cdef public Deadlines expires
    cdef public dict field_expires
    cdef public object _cache
    cdef public object _free
    cdef public CreationOrder _order
    cdef public long _next_serial
    cdef public object _field_deadlines
    cdef public list _walks
    cdef public OrderedIndex streams
    cdef public object slots
    cdef public MemoryCount memory
    cdef public long _tables_bytes
    cdef public Py_ssize_t _measured_keys
    cdef public object _recounted

    cpdef Value get(self, bytes key)
    cpdef set(self, bytes key, Value value)
    cpdef Value remove(self, bytes key)
    cpdef Value take(self, bytes key)
    cpdef expire_at(self, bytes key, long when_ms)
    cpdef bint persist(self, bytes key) except -1
    cdef _drop_deadline(self, Value value)
    cpdef deadline(self, bytes key)
    cpdef bint has_passed(self, Value value, long now_ms) noexcept
    cpdef bint is_expired(self, bytes key, long now_ms)
    cpdef watch_fields(self, bytes key)
    cpdef long memory_bytes(self)
