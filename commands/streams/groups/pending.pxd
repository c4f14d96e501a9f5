# The C types of commands/streams/groups/pending.py.

cimport cython

from storage.append_only.request_writer cimport RequestWriter
from storage.entries.entry_id cimport entry_id_t
from storage.groups.pending_block cimport Block, Owner, _numbers


cdef Py_ssize_t _TIME
cdef Py_ssize_t _STATE
cdef Py_ssize_t _ROW_WORDS


cdef class Rendered:
    cdef object _query
    cdef entry_id_t _end
    cdef object _now_ms
    cdef RequestWriter _writer
    cdef public Py_ssize_t count

    @cython.locals(entry_id=entry_id_t)
    cpdef bint add_block(self, Block block, Py_ssize_t place, Owner of_owner) except -1
