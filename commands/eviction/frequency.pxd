# The C types of commands/eviction/frequency.py.

from storage.chance cimport Chance
from storage.types.value cimport Value


cpdef long long frequency_now(Value value, long long now_ms, long long decay_minutes)
cpdef count_access(Value value, long long now_ms, object settings, Chance chance)
