# The C types of commands/core/instance.py.

from storage.keyspace.ordered_index cimport Chance
from storage.types.value cimport Value
from commands.core.propagation cimport Propagation
from storage.keyspace.database cimport Database


cpdef long frequency_now(Value value, long now_ms, long decay_minutes)
cpdef count_access(Value value, long now_ms, object settings, Chance chance)


cdef class CommandStats:
    cdef public long calls
    cdef public long usec
    cdef public long rejected_calls
    cdef public long failed_calls
    cdef public object histogram


cdef class Stats:
    cdef dict __dict__
    cdef public dict commands
    cdef public long commands_processed
    cdef public long keyspace_hits
    cdef public long keyspace_misses
    cdef public object delivery_latency
    cdef public long net_input_bytes
    cdef public long net_output_bytes
    cdef public long reads_processed
    cdef public long writes_processed
    cdef public long cycles
    cdef public long cycles_us
    cdef public long cycles_with_input
    cdef public long inputs_processed
    cdef public long batches
    cdef public long batched_requests

    cpdef object of(self, object command)


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
    cdef public object replication
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
