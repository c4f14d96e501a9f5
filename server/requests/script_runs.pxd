# The C types of server/requests/script_runs.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance


cdef class ScriptRuns:
    cdef object _runner
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
