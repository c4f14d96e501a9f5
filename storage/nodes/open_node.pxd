# The C types of storage/nodes/open_node.py.

from storage.redis_format.listpack_size cimport FieldSizes, int64_bytes


cdef FieldSizes _SIZES
cdef Py_ssize_t _MAX_NODE_BYTES
cdef Py_ssize_t _FLAGS_BYTES


cdef class OpenNode:
    cdef public object key
    cdef public list ids
    cdef public list entries
    cdef public Py_ssize_t deleted
    cdef public object lost_end
    cdef public object shape
    cdef public Py_ssize_t entries_bytes
    cdef list _names
    cdef Py_ssize_t _header_bytes
    cdef unsigned long long _key_ms
    cdef unsigned long long _key_seq

    cpdef bint append_entry(
        self,
        object entry_id,
        bytes entry,
        Py_ssize_t fields_at,
        Py_ssize_t max_entries,
        Py_ssize_t max_bytes,
    )
    cpdef bint append(
        self,
        object entry_id,
        unsigned long long ms,
        unsigned long long seq,
        bytes entry,
        Py_ssize_t fields_at,
        Py_ssize_t max_entries,
        Py_ssize_t max_bytes,
    )
    cdef Py_ssize_t _id_bytes(self, unsigned long long ms, unsigned long long seq)
    cdef Py_ssize_t _size(self)
