# The C types of storage/types/strings.py.

from storage.object_size cimport bytearray_bytes, bytes_object_bytes
from storage.types.value cimport Value


cdef long long _OWN_BYTES


cdef class StringValue(Value):
    cdef public object data
    cdef public object _encoding

    cpdef bytes to_bytes(self)
    cpdef replace(self, bytes data, bytes encoding=*)
