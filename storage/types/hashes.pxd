# The C types of storage/types/hashes.py.

from storage.memory cimport bytes_object_bytes
from storage.types.packed_table cimport PackedTable
from storage.types.records cimport field_of, value_of


cdef tuple _ENCODINGS
cdef unsigned char _LISTPACK
cdef unsigned char _LISTPACK_EX
cdef unsigned char _HASHTABLE


cdef class HashValue(PackedTable):
    cdef public dict expires
    cdef public list _alarms
    cdef long _times_bytes

    cdef _become_table(self)
    cpdef bytes get(self, bytes field)
    cpdef bint load(self, bytes field, bytes value) except -1
    cpdef bint set(self, bytes field, bytes value, object limits) except -1
    cpdef bint assign(self, bytes field, bytes value, object limits) except -1
    cpdef Py_ssize_t update(self, list[bytes] fields_and_values, object limits) except -1
