# The C types of commands/keys/expiry.py.

from commands.core.client cimport Client
from commands.keys.lookup cimport peek
from protocol cimport replies
from protocol.request cimport Request


cdef bytes _expire(Client client, Request argv, bytes command, long long unit_ms, long long base_ms)
cdef bytes _deadline(Client client, Request request, long long unit_ms, long long base_ms)
