# The C types of storage/types/strings.py.

from storage.types.value cimport Value


cdef class StringValue(Value):
    cdef public object data
    cdef public object _encoding

    cpdef bytes to_bytes(self)
    cpdef replace(self, bytes data, bytes encoding=*)
