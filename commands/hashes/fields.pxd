# The C types of commands/hashes/fields.py.

from commands.core.arguments cimport parse_int
from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol cimport replies
from protocol.request cimport Request
from storage.redis_format.listpack_elements cimport plain_integer
from storage.types.hashes cimport HashValue
from storage.types.records cimport field_of, pair_bulks, value_of


cpdef object values_reply(Client client, HashValue value, list[bytes] names)


cdef long _LEAST
cdef long _GREATEST
