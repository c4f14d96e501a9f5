# The C types of commands/core/blocking/ready_keys.py.

cdef class ReadyKeys:
    cdef public dict awaited
    cdef public dict signalled
