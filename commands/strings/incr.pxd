# The C types of commands/strings/incr.py.

from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request
from storage.redis_format.listpack_size cimport plain_integer
from storage.types.strings cimport StringValue


cdef long long _LEAST
cdef long long _GREATEST
cdef long _EVENTS
