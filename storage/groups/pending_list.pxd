# The C types of storage/groups/pending_list.py.

from storage.entries.entry_id cimport entry_id_t
from storage.entries.entry_ids cimport EntryIDs
from storage.groups.pending_block cimport Block, Owner, PendingEntries
from storage.groups.pending_blocks cimport PendingBlocks
from storage.groups.tally cimport Tally


cdef class PendingList(PendingEntries):
    cdef public PendingBlocks _blocks
    cdef public Py_ssize_t length
    cdef readonly Tally tally

    cpdef bint reaches(self, entry_id_t entry_id) except -1
    cpdef extend(self, EntryIDs ids, Owner owner, unsigned long long delivery_ms, bint are_strays)
    cpdef bint remove(self, entry_id_t entry_id) except -1
    cpdef Py_ssize_t remove_all(self, EntryIDs ids) except -1
    cdef _remove(self, Block block, Py_ssize_t place, Py_ssize_t count)
