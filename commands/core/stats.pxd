# The C types of commands/core/stats.py.


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
