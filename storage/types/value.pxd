# The C types of storage/types/value.py.

cdef class Value:
    cdef public object access_ms
    cdef public object serial
