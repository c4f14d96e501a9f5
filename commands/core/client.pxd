# The C types of commands/core/client.py.

from commands.core.instance cimport Instance
from storage.append_only.request_writer cimport RequestWriter
from storage.keyspace.database cimport Database
from storage.stream cimport Stream
from storage.types.value cimport Value


cdef class Client:
    cdef dict __dict__
    cdef object __weakref__
    cdef public Instance instance
    cdef public Database db
    cdef public long resp
    cdef public list output
    cdef public long gates
    cdef public long long last_interaction_ms
    cdef public bint closed
    cdef public bint close_after_reply
    cdef public bint authenticated
    cdef public bytes last_command
    cdef public bint no_touch
    cdef public bint deny_blocking
    cdef public bint replays
    cdef public bint is_blocked
    cdef public object postponed
    cdef public object long_reply
    cdef public bint propagates
    cdef public long long write_offset
    cdef public long long replicated_offset
    cdef dict _features
    cdef public Py_ssize_t queued_bytes
    cdef public Py_ssize_t query_buffer_bytes
    cdef public object transport
    cdef public long subscriptions

    cpdef object feature(self, object kind)
    cpdef Value lookup_for_write(self, bytes key)
    cpdef Value lookup_typed_for_write(self, bytes key, object kind)
    cpdef store(self, bytes key, Value value)
    cpdef modified(self, bytes key, Py_ssize_t changes=*)
    cpdef notify(self, long long event_class, bytes event, bytes key)
    cpdef signal_key_as_ready(self, bytes key)
    cpdef RequestWriter begin_propagated(self)
    cpdef note_write(self)
