# The C types of storage/groups/pending_blocks.py.

from storage.entries.entry_id cimport entry_id_t
from storage.groups.pending_block cimport Block
from storage.groups.tally cimport Tally


cdef class PendingBlocks:
    cdef public list _blocks
    cdef public list _untidy
    cdef public dict departed
    cdef public Block last
    cdef readonly Tally tally

    cpdef Py_ssize_t index(self, entry_id_t entry_id) except -1
    cpdef Block of(self, entry_id_t entry_id)
    cdef Block _cleared(self, Block block)
