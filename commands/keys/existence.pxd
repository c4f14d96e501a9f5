# The C types of commands/keys/existence.py.

from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request
from storage.keyspace.database cimport Database
from storage.types.value cimport Value


cpdef Value find(Client client, Database db, bytes key)
cpdef Value peek(Client client, bytes key, bint tell_of_miss=*)


cdef bytes _expire(Client client, Request argv, bytes command, long unit_ms, long base_ms)
cdef bytes _deadline(Client client, Request request, long unit_ms, long base_ms)
