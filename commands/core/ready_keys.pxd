# The C types of commands/core/ready_keys.py.

cdef class ReadyKeys:
    cdef public dict awaited
    cdef public dict signalled
