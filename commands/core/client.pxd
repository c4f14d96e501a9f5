# The C types of commands/core/client.py.

from commands.core.instance cimport Instance
from storage.append_only.request_writer cimport RequestWriter
from storage.keyspace.database cimport Database
from storage.types.value cimport Value


cdef int _EVENTS
cdef int _BLOCKED
cdef int _CLOSING
cdef int _CLOSED
cdef signed char _NEXT[64]


cdef class Client:
    cdef object __weakref__
    cdef public Instance instance
    cdef public object id
    cdef public Database db
    cdef public long resp
    cdef public list output
    cdef public long gates
    cdef public long last_interaction_ms
    cdef public int state
    cdef public bint authenticated
    cdef public bytes last_command
    cdef public bint no_touch
    cdef public bint deny_blocking
    cdef public bint replays
    cdef public bint is_asking
    cdef public bint has_asked
    cdef public bint reads_replica
    cdef public object postponed
    cdef public object long_reply
    cdef public bint propagates
    cdef public long write_offset
    cdef public long replicated_offset
    cdef dict _features
    cdef public Py_ssize_t queued_bytes
    cdef public Py_ssize_t query_buffer_bytes
    cdef public Py_ssize_t counted_bytes
    cdef public long counted_as
    cdef public Py_ssize_t named_bytes
    cdef public object connection
    cdef public long subscriptions
    cdef public bytes address
    cdef public long created_ms
    cdef public bytes user
    cdef public bytes name
    cdef public bytes reply_mode
    cdef public bint no_evict
    cdef public long reads
    cdef public long net_input_bytes
    cdef public long net_output_bytes
    cdef public long commands
    cdef public long batches
    cdef public long batched_requests

    cpdef enter(self, int event)
    cpdef object feature(self, object kind)
    cdef Value _present(self, bytes key)
    cdef _touch(self, Value value)
    cpdef Value lookup(self, bytes key)
    cpdef Value lookup_for_write(self, bytes key)
    cpdef Value lookup_stream(self, bytes key)
    cpdef Value lookup_stream_for_write(self, bytes key)
    cpdef Value lookup_string(self, bytes key)
    cpdef Value lookup_string_for_write(self, bytes key)
    cpdef Value lookup_typed(self, bytes key, object kind)
    cpdef Value lookup_typed_for_write(self, bytes key, object kind)
    cpdef store(self, bytes key, Value value)
    cpdef expire_at(self, Database db, bytes key, long when_ms)
    cpdef remove(self, bytes key)
    cpdef modified(self, bytes key, long changes=*)
    cpdef changed(self, long changes=*)
    cpdef notify(self, long event_class, bytes event, bytes key)
    cpdef notify_fields(self, bytes event, bytes key, object fields)
    cpdef signal_key_as_ready(self, bytes key)
    cpdef propagate_nothing(self)
    cpdef RequestWriter begin_propagated(self)
    cpdef note_write(self)
