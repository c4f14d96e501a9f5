# The C types of storage/groups/consumer.py.

cdef class Consumer:
    cdef public object name
    cdef public long long seen_ms
    cdef public long long active_ms
    cdef public Py_ssize_t pending_count
    cdef public object pending_blocks
