# The C types of commands/hashes/hget.py.

from commands.core.client cimport Client
from protocol.request cimport Request
from storage.types.hashes cimport HashValue
from storage.types.records cimport field_of, pair_bulks, value_of
