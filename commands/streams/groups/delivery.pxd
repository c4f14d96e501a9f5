# The C types of commands/streams/groups/delivery.py.

from commands.core.client cimport Client
from storage.append_only.request_writer cimport RequestWriter
from storage.entries.entry_ids cimport EntryIDs
from storage.groups.consumer cimport Consumer
from storage.groups.group cimport Group


cdef Py_ssize_t _IDS_PER_REQUEST
cdef Py_ssize_t _CLAIM_WORDS

cpdef propagate_delivery(
    Client client,
    bytes key,
    Group group,
    Consumer consumer,
    EntryIDs ids,
    unsigned long long delivery_ms,
    unsigned long long delivery_count=*,
)
cpdef propagate_position(Client client, bytes key, Group group)
