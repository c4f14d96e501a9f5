# The C types of server/requests/script_runs.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.registry cimport Runner
from server.requests.command_clock cimport CommandClock


cdef class ScriptRuns:
    cdef Runner _runner
    cdef CommandClock _clock
    cdef object _waiters
    cdef object _to_worker
    cdef Instance _instance
    cdef object _worker
    cdef object _main
    cdef bint _is_inside
    cdef long long _slice_end_ns
    cdef public long long slice_ns
    cdef public object paused
    cdef public object schedule

    cpdef object run(self, Client client, list argv, object work)
