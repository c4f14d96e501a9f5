# The C types of commands/streams/groups/pending.py.

cimport cython

from commands.core.client cimport Client
from commands.streams.groups.delivery cimport group_changed
from protocol.replies cimport Form
from protocol.request cimport Request
from storage.append_only.request_writer cimport RequestWriter
from storage.entries.entry_id cimport entry_id_t, EntryIDs
from storage.groups.group cimport Consumer, Group
from storage.groups.pending_block cimport Block, Owner, _numbers
from storage.stream cimport Stream


cdef EntryIDs _IDS

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


cdef RequestWriter _WRITER

cpdef bytes group_row(Stream stream, Group group, Form form, bytes nil)
cpdef bytes full_group_row(Stream stream, Group group, Form form, bytes nil, long count)
cpdef list consumer_rows(Group group, Form form, long now_ms)
cpdef list full_consumer_rows(Group group, Form form, long count)
