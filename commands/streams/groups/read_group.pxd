# The C types of commands/streams/groups/read_group.py.

cimport cython

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.streams.groups.delivery cimport (
    group_changed, propagate_delivery, propagate_position, seen_consumer,
)
from protocol.request cimport Request
from storage.entries.entry_id cimport entry_id_t, EntryIDs
from storage.groups.group cimport Consumer, DeliveryLatency, Group
from storage.stream cimport advance_group
from storage.stream cimport Stream


cdef EntryIDs _IDS


cdef class GroupRead:
    cdef list _after
    cdef object _request
    cdef bytes _header_2
    cdef bytes _header_3
    cdef bint is_plain
    cdef bint is_timeless
    cdef Py_ssize_t streams
    cdef bytes key
    cdef bytes group
    cdef bytes consumer
    cdef Py_ssize_t count
    cdef bint noack

    cpdef object serve(self, Client client)
    cdef bint _is_plain_for(self, object policy, Client client, Group group) except -1
    @cython.locals(start=entry_id_t)
    cdef object _new_entries(
        self, Client client, bytes header, bytes key, Stream stream, Group group, object caps
    )
    cdef _deliver(
        self, Client client, bytes key, Stream stream, Group group, Consumer consumer, EntryIDs ids
    )


cdef Stream _stream_to_read(Client client, bytes key, bytes name)
