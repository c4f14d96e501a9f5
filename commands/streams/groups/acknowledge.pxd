# The C types of commands/streams/groups/acknowledge.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.entries.entry_id cimport parse_plain_id
from storage.groups.group cimport Group
from storage.keyspace.database cimport Database
from storage.stream cimport Stream


cdef bytes _acknowledge_plain(Client client, Request request)
