# The C types of commands/hashes/hincrby.py.

from commands.core.arguments cimport parse_int
from commands.core.client cimport Client
from protocol.request cimport Request
from protocol cimport replies
from storage.redis_format.listpack_size cimport plain_integer
from storage.types.hashes cimport HashValue


cdef long long _LEAST
cdef long long _GREATEST
