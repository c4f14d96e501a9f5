# The C types of commands/core/stats.py.


cdef class CommandStats:
    cdef public long long calls
    cdef public long long usec
    cdef public long long rejected_calls
    cdef public long long failed_calls
    cdef public object histogram


cdef class Stats:
    cdef dict __dict__
    cdef public dict commands
    cdef public long long commands_processed
    cdef public long long keyspace_hits
    cdef public long long keyspace_misses
    cdef public object delivery_latency
    cdef public long long net_input_bytes
    cdef public long long net_output_bytes
    cdef public long long reads_processed
    cdef public long long writes_processed
    cdef public long long cycles
    cdef public long long cycles_us
    cdef public long long cycles_with_input
    cdef public long long inputs_processed
    cdef public long long batches
    cdef public long long batched_requests

    cpdef object of(self, object command)
