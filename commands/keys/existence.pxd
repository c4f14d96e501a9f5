# The C types of commands/keys/existence.py.

from commands.core.arguments cimport parse_deadline, parse_int
from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol cimport replies
from protocol.request cimport Request
from storage.keyspace.database cimport Database
from storage.types.value cimport Value


cdef long _EVENTS
cdef long _LEAST_MS
cdef long _LEAST_SECONDS

cpdef Value find(Client client, Database db, bytes key)
cpdef Value peek(Client client, bytes key, bint tell_of_miss=*)
cpdef bint delete(Client client, bytes key) except -1
cpdef set_deadline(Client client, bytes key, long when_ms)


cdef bytes _expire(Client client, Request argv, bytes command, long unit_ms, long base_ms)
cdef bytes _deadline(Client client, Request request, long unit_ms, long base_ms)
