# The C types of commands/state/invalidation_table.py.

cdef class TrackingTable:
    cdef dict __dict__
    cdef public bint active
    cdef public dict changes
