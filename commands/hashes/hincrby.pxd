# The C types of commands/hashes/hincrby.py.

from commands.core.arguments cimport parse_int
from commands.core.client cimport Client
from protocol.request cimport Request
from storage.types.hashes cimport HashValue
