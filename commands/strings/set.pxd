# The C types of commands/strings/set.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.keyspace.database cimport Database
from storage.types.strings cimport StringValue


cdef bytes _set_plainly(Client client, Request request)
