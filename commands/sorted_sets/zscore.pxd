# The C types of commands/sorted_sets/zscore.py.

from commands.core.client cimport Client
from commands.sorted_sets.pairs cimport score_or_nil
from protocol.request cimport Request
from storage.types.sets cimport SortedSetValue
