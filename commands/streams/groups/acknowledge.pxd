# The C types of commands/streams/groups/acknowledge.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.entries.entry_ids cimport EntryIDs
from storage.groups.group cimport Group
from storage.keyspace.database cimport Database
from storage.stream cimport Stream


cdef EntryIDs _IDS
cdef Py_ssize_t _MOST_WORDS

cdef bytes _acknowledge_plain(Client client, Request request)
