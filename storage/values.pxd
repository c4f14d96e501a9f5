# The C types of storage/values.py.

cdef class Value:
    cdef public object access_ms
    cdef public object serial
