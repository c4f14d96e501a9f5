# The C types of storage/groups/claim_order.py.

from storage.entries.entry_id cimport entry_id_t
from storage.groups.pending_list cimport PendingList
from storage.groups.pending_block cimport MemoryCounter


cdef double _LISTED_BYTES
cdef double _TIME_BYTES
cdef long _PART_BYTES
cdef long _OWN_BYTES
cdef long _ITERATORS_BYTES


cdef class ClaimOrder:
    cdef PendingList _pending
    cdef object _numbers
    cdef public object _parts
    cdef public list _last
    cdef public object _last_ms
    cdef public object _room
    cdef public Py_ssize_t _listed
    cdef Py_ssize_t _items
    cdef MemoryCounter _counter
    cdef long _counted_bytes
    cdef object _sweep
    cdef object _credit
    cdef object _released
    cdef list _loaded
    cdef public object releases
    cdef public entry_id_t _line_start
    cdef public entry_id_t _line_end
    cdef public long _line_ms
    cdef readonly long lines

    cdef _begin_line(self)
    cpdef bint join_line(self, long delivery_ms, entry_id_t first, entry_id_t last) except -1
    cpdef tidy(self, Py_ssize_t changes)
    cdef _settle(self)
