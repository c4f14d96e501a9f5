# The C types of server/requests/dispatch.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.state.stats cimport CommandStats, Stats
from protocol.cutter cimport Cutter
from server.requests.propagation cimport Propagation
from server.requests.turns cimport Turns


cdef class Dispatcher:
    cdef dict __dict__
    cdef public Instance instance
    cdef public Turns turns
    cdef public object admission
    cdef public Propagation propagation
    cdef public object waiters
    cdef public Cutter cutter
    cdef Cutter _queue_cutter
    cdef public dict _table
    cdef public object send_in_pieces
    cdef public long long mark_ns
    cdef public long long turn_ns
    cdef public long long turn_end_ns
    cdef public long long _cycle_start_ns
    cdef public bint has_run_handlers
    cdef public bint _tracks_latency
    cdef public long long _notable_us
    cdef public long _depth
    cdef object _raw_command
    cdef bytes _raw_name
    cdef object _raw
    cdef Py_ssize_t _raw_words
    cdef Py_ssize_t _raw_most_words
    cdef object _collect
    cdef Client _raw_client
    cdef Cutter _raw_request
    cdef long long _raw_count
    cdef long long _raw_limit

    cpdef start_input(self, long long now_ms)
    cpdef end_cycle(self)
    cpdef bint execute(self, Client client, list[bytes] argv)
    cpdef bint execute_cut(self, Client client, Cutter request)
    cdef bint _enqueue_cut(self, Client client, object command, Cutter request)
    cpdef count_batch(self)
    cdef object _run_queued(self, Client client, object command, object request)
    cdef _take_up(self, object command, bytes name)
    cdef bytes _try_raw(self, Client client, Cutter request)
    cpdef long long _count(self, CommandStats of_command, long long start_ns)
    cpdef object account(self, Client client, object command, list[bytes] argv, object handler)
