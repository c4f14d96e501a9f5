# The C types of commands/streams/groups/delivery.py.

from commands.core.client cimport Client
from storage.append_only.request_writer cimport RequestWriter
from storage.groups.consumer cimport Consumer
from storage.groups.group cimport Group


cdef RequestWriter _WRITER

cpdef propagate_delivery(
    Client client,
    bytes key,
    Group group,
    Consumer consumer,
    list ids,
    unsigned long long delivery_ms,
    unsigned long long delivery_count=*,
)
cpdef propagate_position(Client client, bytes key, Group group)
