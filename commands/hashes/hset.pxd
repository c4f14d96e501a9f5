# The C types of commands/hashes/hset.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.types.hashes cimport HashValue
