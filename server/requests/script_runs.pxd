# The C types of server/requests/script_runs.py.

from commands.core.instance cimport Instance


cdef class ScriptRuns:
    cdef object _runner
    cdef Instance _instance
    cdef object _worker
    cdef object _main
    cdef bint _is_inside
    cdef long long _slice_end_ns
    cdef public long long slice_ns
    cdef public object paused
    cdef public object schedule
