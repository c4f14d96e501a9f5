# The C types of storage/groups/pending_blocks.py.

from storage.groups.pending_block cimport Block


cdef class PendingBlocks:
    cdef public list _blocks
    cdef public list _starts
    cdef public list _untidy
    cdef public dict departed
    cdef public Block last

    cpdef Py_ssize_t index(self, object entry_id)
    cpdef Block of(self, object entry_id)
    cdef Block _cleared(self, Block block)
