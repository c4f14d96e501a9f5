# The C types of storage/keyspace/database.py.

from storage.keyspace.ordered_index cimport OrderedIndex
from storage.types.value cimport Value


cdef class Database:
    cdef dict __dict__
    cdef public Py_ssize_t index
    cdef public dict values
    cdef public dict expires
    cdef public dict field_expires
    cdef public OrderedIndex _order
    cdef public long long _next_serial
    cdef object _cache

    cpdef set(self, bytes key, Value value)
