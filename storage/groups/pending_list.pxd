# The C types of storage/groups/pending_list.py.

from storage.groups.pending_block cimport Block, Owner, PendingEntries
from storage.groups.pending_blocks cimport PendingBlocks


cdef class PendingList(PendingEntries):
    cdef public PendingBlocks _blocks
    cdef public Py_ssize_t length

    cpdef object last_key(self)
    cpdef extend(self, list ids, Owner owner, unsigned long long delivery_ms, bint are_strays)
    cpdef bint remove(self, object entry_id) except -1
    cdef _remove(self, Block block, Py_ssize_t place, Py_ssize_t count)
