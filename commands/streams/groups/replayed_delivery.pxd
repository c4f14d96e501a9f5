# The C types of commands/streams/groups/replayed_delivery.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.entries.entry_id cimport parse_plain_id
from storage.entries.entry_ids cimport EntryIDs
from storage.groups.consumer cimport Consumer
from storage.groups.group cimport Group
from storage.keyspace.database cimport Database
from storage.stream cimport Stream


cdef bint _has_form(Request request) except -1
cdef EntryIDs _new_ids(Request request, Stream stream, Group group)
