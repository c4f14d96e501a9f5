# The C types of commands/streams/groups/delivery.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.append_only.request_writer cimport RequestWriter
from storage.entries.entry_id cimport EntryIDs, parse_plain_id
from storage.groups.group cimport Consumer, Group
from storage.keyspace.database cimport Database
from storage.stream cimport Stream


cdef Py_ssize_t _IDS_PER_REQUEST
cdef Py_ssize_t _CLAIM_WORDS

cpdef group_changed(Client client, bytes key, long changes=*)
cpdef Consumer seen_consumer(Client client, bytes key, Group group, bytes name)
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

cdef bint _has_form(Request request) except -1
cdef EntryIDs _new_ids(Request request, Stream stream, Group group)
