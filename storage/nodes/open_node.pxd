# The C types of storage/nodes/open_node.py.

from storage.entries.entry_id cimport EntryIDs, id_ms, id_seq
from storage.nodes.entry_buffer cimport EntryBuffer
from storage.redis_format.listpack_size cimport FieldSizes, int64_bytes


cdef FieldSizes _SIZES
cdef Py_ssize_t _MAX_NODE_BYTES
cdef Py_ssize_t _FLAGS_BYTES
cdef long long _OWN_BYTES
cdef long long _ID_BYTES


cdef class OpenNode:
    cdef public object key
    cdef public Py_ssize_t deleted
    cdef public object lost_end
    cdef public object shape
    cdef public Py_ssize_t entries_bytes
    cdef EntryBuffer _buffer
    cdef list _names
    cdef Py_ssize_t _header_bytes
    cdef unsigned long long _key_ms
    cdef unsigned long long _key_seq

    cpdef bint append(
        self,
        unsigned long long ms,
        unsigned long long seq,
        bytes id_bulk,
        bytes fields,
        Py_ssize_t words,
        Py_ssize_t max_entries,
        Py_ssize_t max_bytes,
    )
    cdef Py_ssize_t _id_bytes(self, unsigned long long ms, unsigned long long seq)
    cdef Py_ssize_t _size(self)
    cpdef long long memory_bytes(self)
    cpdef tuple select(self, object start, object end, Py_ssize_t limit)
    cpdef list read_from(self, EntryIDs ids, object start, Py_ssize_t limit)
    cpdef add_ids_to(self, EntryIDs ids, object start, object end, Py_ssize_t limit)
    cpdef tuple _places(self, object start, object end)
