# The C types of storage/strings.py.

from storage.values cimport Value


cdef class StringValue(Value):
    cdef public object data
    cdef public object _encoding
