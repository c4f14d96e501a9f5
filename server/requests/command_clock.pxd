# The C types of server/requests/command_clock.py.

from commands.core.client cimport Client
from commands.core.registry cimport Command, Stopwatch
from commands.core.instance cimport CommandStats, Instance, Stats
from protocol.request cimport Request


cdef long _PRIMARY
cdef long _REPLICA
cdef long _SILENT


cdef class CommandClock(Stopwatch):
    cdef Instance _instance
    cdef public long slice_ns
    cdef public long slice_end_ns
    cdef public long strangers_ns
    cdef public long _cycle_start_ns
    cdef long _counted_inputs
    cdef bint _tracks_latency
    cdef long notable_us
    cdef Command quick_command
    cdef Client _quick_client
    cdef long quick_count
    cdef long _quick_last
    cdef list _quick_others
    cdef dict settled
    cdef long _quick_limit

    cpdef start_slice(self)
    cpdef bint admits_strangers(self)
    cpdef limit_slice_of_stranger(self)
    cpdef end_slice_of_stranger(self, long start_ns)
    cpdef end_cycle(self)
    cpdef mark(self)
    cdef add_quick(self, Client client, Command command, Request request)
    cpdef count_quick(self, Request request=*)
    cdef _forget_quick(self)
    cdef _settle(self)
    cdef _count_settled(self)
    cdef _count(self, Command command, long count, long elapsed_us)
    cdef count(
        self, Client client, Command command, Request request, long start_ns, long quick
    )


cdef class Answering:
    cdef Instance _instance
    cdef CommandClock _clock

    cpdef answer(self, Client client, bytes reply, Py_ssize_t position)
    cpdef bint is_heard(self, Client client) except -1
    cpdef reject(self, Client client, Command command, object error, Request request)
