# The C types of storage/groups/group.py.

from cpython.array cimport array
from storage.entries.entry_id cimport entry_id_t, EntryIDs, numbers_of
from storage.groups.claim_order cimport ClaimOrder
from storage.groups.pending_block cimport Owner, MemoryCounter
from storage.groups.pending_list cimport PendingList
from storage.memory cimport bytes_object_bytes, dict_bytes


cdef long _FIRST_TIME_MS
cdef long _AHEAD_MS
cdef int _LAST


cdef class DeliveryLatency:
    cdef array _counts
    cdef readonly long total_ms

    cpdef observe(self, EntryIDs ids, long now_ms)
    cdef bint _observe_alike(self, EntryIDs ids, Py_ssize_t count, long now_ms) except -1
    cdef _observe_each(self, EntryIDs ids, Py_ssize_t count, long now_ms)


cdef int _bucket(long waited_ms) except? -1


cdef class Consumer(Owner):
    cdef public long seen_ms
    cdef public long active_ms


cdef long _OWN_BYTES
cdef long _CONSUMER_BYTES


cdef class Group:
    cdef public object name
    cdef public entry_id_t last_delivered_id
    cdef public long entries_read
    cdef public PendingList pending
    cdef public dict consumers
    cdef public ClaimOrder _order
    cdef public DeliveryLatency delivery_latency
    cdef public object policy
    cdef readonly MemoryCounter counter
    cdef long _consumers_bytes

    cdef _note_new(self, Consumer consumer)
    cdef _count_consumers(self)

    cpdef deliver(self, Consumer consumer, EntryIDs ids, long now_ms)
    cpdef Py_ssize_t acknowledge_all(self, EntryIDs ids) except -1
    cpdef long memory_bytes(self)
