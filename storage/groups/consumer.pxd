# The C types of storage/groups/consumer.py.

from storage.groups.pending_block cimport Owner


cdef class Consumer(Owner):
    cdef public long long seen_ms
    cdef public long long active_ms
