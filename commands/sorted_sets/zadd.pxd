# The C types of commands/sorted_sets/zadd.py.

from commands.core.client cimport Client
from protocol.request cimport Request
from storage.types.sorted_sets cimport SortedSetValue
