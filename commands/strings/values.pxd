# The C types of commands/strings/values.py.

from commands.core.arguments cimport parse_deadline, parse_int
from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.writes cimport opened, written
from protocol cimport replies
from protocol.request cimport Request
from storage.keyspace.database cimport Database
from storage.redis_format.listpack_elements cimport plain_integer
from storage.types.value cimport StringValue, Value


cdef long _LEAST
cdef long _GREATEST
cdef long _EVENTS
