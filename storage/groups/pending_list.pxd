# The C types of storage/groups/pending_list.py.

from storage.entries.entry_id cimport entry_id_t, EntryIDs
from storage.groups.pending_block cimport Block, Owner, PendingEntries, MemoryCounter


cdef class PendingBlocks:
    cdef public list _blocks
    cdef public list _untidy
    cdef public dict departed
    cdef public Block last
    cdef readonly MemoryCounter counter

    cpdef Py_ssize_t index(self, entry_id_t entry_id) except -1
    cpdef Block of(self, entry_id_t entry_id)
    cdef Block _cleared(self, Block block)


cdef class PendingList(PendingEntries):
    cdef public PendingBlocks _blocks
    cdef public Py_ssize_t length
    cdef readonly MemoryCounter counter

    cpdef bint reaches(self, entry_id_t entry_id) except -1
    cpdef extend(self, EntryIDs ids, Owner owner, unsigned long long delivery_ms, bint are_strays)
    cpdef bint remove(self, entry_id_t entry_id) except -1
    cpdef Py_ssize_t remove_all(self, EntryIDs ids) except -1
    cdef _remove(self, Block block, Py_ssize_t place, Py_ssize_t count)
