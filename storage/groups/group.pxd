# The C types of storage/groups/group.py.

from storage.entries.entry_id cimport entry_id_t
from storage.entries.entry_ids cimport EntryIDs
from storage.groups.claim_order cimport ClaimOrder
from storage.groups.consumer cimport Consumer
from storage.groups.delivery_latency cimport DeliveryLatency
from storage.groups.pending_list cimport PendingList
from storage.groups.tally cimport Tally
from storage.object_size cimport bytes_object_bytes, dict_bytes


cdef long long _OWN_BYTES
cdef long long _CONSUMER_BYTES


cdef class Group:
    cdef public object name
    cdef public entry_id_t last_delivered_id
    cdef public long long entries_read
    cdef public PendingList pending
    cdef public dict consumers
    cdef public ClaimOrder _order
    cdef public DeliveryLatency delivery_latency
    cdef readonly Tally tally
    cdef long long _consumers_bytes

    cdef _note_new(self, Consumer consumer)
    cdef _count_consumers(self)

    cpdef deliver(self, Consumer consumer, EntryIDs ids, long long now_ms)
    cpdef Py_ssize_t acknowledge_all(self, EntryIDs ids) except -1
    cpdef long long memory_bytes(self)
