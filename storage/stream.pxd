# The C types of storage/stream.py.

cimport cython
from storage.entries.entry cimport encode_id_parts
from storage.entries.entry_id cimport entry_id_t, EntryIDs, id_ms, id_seq, make_id
from storage.groups.group cimport Group
from storage.groups.pending_block cimport MemoryCounter
from storage.nodes.frozen_node cimport FrozenNode
from storage.nodes.node_list cimport NodeList
from storage.nodes.open_node cimport OpenNode
from storage.types.value cimport Value


cdef long _OWN_BYTES
cdef long _NO_GROUPS_BYTES
cdef long _JOURNAL_BYTES


cdef class Stream(Value):
    cdef public Py_ssize_t length
    cdef public entry_id_t last_id
    cdef public entry_id_t max_deleted_id
    cdef public object entries_added
    cdef public dict groups
    cdef long _groups_bytes
    cdef MemoryCounter _counter
    cdef public object idempotence
    cdef public object ack_journal
    cdef public object policy
    cdef public NodeList _nodes
    cdef public OpenNode _tail
    cdef public object _shape
    cdef FrozenNode _first_node
    cdef Py_ssize_t _first_live
    cdef entry_id_t _first_id

    cpdef list read_from(self, EntryIDs ids, entry_id_t start, Py_ssize_t count=*)
    cpdef bint exceeds_bytes(
        self, object start, object end, Py_ssize_t count, Py_ssize_t max_bytes, bint reverse
    ) except -1
    cpdef bint exceeds(self, long max_length, bint whole_nodes)
    cpdef bytes append_raw(
        self,
        unsigned long long ms,
        unsigned long long seq,
        bytes fields,
        Py_ssize_t words,
        Py_ssize_t max_node_entries,
        Py_ssize_t max_node_bytes,
    )
    cpdef bint begins_after(self, entry_id_t entry_id) except -1
    cdef entry_id_t _find_first(self)


cdef entry_id_t MIN_ID
cdef long UNKNOWN

cpdef advance_group(Stream stream, Group group, EntryIDs ids)
cpdef bint has_tombstone_after(Stream stream, entry_id_t entry_id) except -1
