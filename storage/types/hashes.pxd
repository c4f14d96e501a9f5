# The C types of storage/types/hashes.py.

from storage.types.value cimport Value


cdef class HashValue(Value):
    cdef public dict fields
    cdef public dict expires
    cdef public bytes encoding_name
    cdef object _order
    cdef public list _alarms

    cpdef bint set(self, bytes field, bytes value, object limits) except -1
    cpdef Py_ssize_t update(self, list[bytes] fields_and_values, object limits) except -1
