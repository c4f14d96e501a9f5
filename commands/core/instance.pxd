# The C types of commands/core/instance.py.

from commands.core.blocking.ready_keys cimport ReadyKeys
from commands.core.propagation.propagation cimport Propagation
from storage.chance cimport Chance
from commands.state.background_work cimport BackgroundWork
from commands.state.stats cimport Stats
from commands.state.invalidation_table cimport TrackingTable
from storage.keyspace.database cimport Database
from storage.types.value cimport Value


cdef class Instance:
    cdef dict __dict__
    cdef public object config
    cdef public object encoding_limits
    cdef public long long now_ms
    cdef public long gates
    cdef public long long dirty
    cdef public ReadyKeys ready_keys
    cdef public object read_requests
    cdef public object group_read_requests
    cdef public dict xadd_caps
    cdef public TrackingTable tracking
    cdef public dict watchers
    cdef dict _features
    cdef public Stats stats
    cdef public dict monitors
    cdef public Propagation propagation
    cdef public BackgroundWork background_work
    cdef public long long node_max_entries
    cdef public long long node_max_bytes
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
