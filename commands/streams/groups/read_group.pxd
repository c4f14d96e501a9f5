# The C types of commands/streams/groups/read_group.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.entries.entry_id cimport EntryIDs
from storage.groups.group cimport Consumer, DeliveryLatency, Group
from storage.groups.lag cimport advance_group
from storage.keyspace.database cimport Database
from storage.stream cimport Stream


cdef EntryIDs _IDS


cdef class GroupRead:
    cdef list _after
    cdef object _request
    cdef bint _is_plain
    cdef bint is_small
    cdef bint is_timeless
    cdef object key
    cdef object group
    cdef object consumer
    cdef object count
    cdef object header_2
    cdef object header_3


cdef _count_latency(Instance instance, Group group, EntryIDs ids)
cdef bytes _read_few(Client client, GroupRead read)
