# The C types of commands/core/instance.py.

from storage.keyspace.ordered_index cimport Chance
from storage.types.value cimport Value
from commands.core.propagation cimport Propagation
from commands.core.stats cimport Stats
from storage.keyspace.database cimport Database


cpdef long frequency_now(Value value, long now_ms, long decay_minutes)
cpdef count_access(Value value, long now_ms, object settings, Chance chance)


cdef class ReadyKeys:
    cdef public dict awaited
    cdef public dict awaited_missing
    cdef public dict signalled


cdef class Instance:
    cdef dict __dict__
    cdef public object config
    cdef public object encoding_limits
    cdef public long now_ms
    cdef public long monotonic_ms
    cdef public long gates
    cdef public long dirty
    cdef public ReadyKeys ready_keys
    cdef public list key_observers
    cdef public list at_cycle_end
    cdef public object publish
    cdef dict _features
    cdef public Stats stats
    cdef public dict monitors
    cdef public Propagation propagation
    cdef public object background_work
    cdef public long node_max_entries
    cdef public long node_max_bytes
    cdef public bint is_observed
    cdef public bint limits_output
    cdef public Chance chance
    cdef public bint reads_touch
    cdef public bint counts_accesses
    cdef public bint limits_memory
    cdef public bint is_cluster

    cpdef object feature(self, object kind)
    cpdef look_up_settings(self)
    cpdef touch(self, Value value)
    cpdef store(self, Database db, bytes key, Value value)
    cpdef remove(self, Database db, bytes key)
