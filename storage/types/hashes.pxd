# The C types of storage/types/hashes.py.

from storage.types.members.pairs cimport field_of, pair, value_of
from storage.types.members.record_table cimport RecordTable
from storage.types.value cimport Value


cdef class HashValue(Value):
    cdef RecordTable _table
    cdef public dict expires
    cdef public bytes encoding_name
    cdef public list _alarms

    cpdef bytes get(self, bytes field)
    cpdef bytes record(self, bytes field)
    cpdef bint load(self, bytes field, bytes value) except -1
    cpdef bint set(self, bytes field, bytes value, object limits) except -1
    cpdef bint assign(self, bytes field, bytes value, object limits) except -1
    cpdef Py_ssize_t update(self, list[bytes] fields_and_values, object limits) except -1
