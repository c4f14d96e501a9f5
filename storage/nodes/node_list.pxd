# The C types of storage/nodes/node_list.py.

cimport cython
from storage.entries.entry_id cimport entry_id_t, EntryIDs
from storage.memory cimport list_bytes
from storage.nodes.frozen_node cimport FrozenNode
from storage.nodes.open_node cimport OpenNode


cdef long _OWN_BYTES


cdef class NodeList:
    cdef public object _packing
    cdef public list _keys
    cdef public list _nodes
    cdef public Py_ssize_t _head
    cdef long _counted_bytes
    cdef Py_ssize_t _read
    cdef public Py_ssize_t _lent
    cdef public NodeList _lender
    cdef public bint _needs_lender

    cpdef object peek_first(self)
    cpdef long memory_bytes(self)
    cpdef tuple select(self, object start, object end, Py_ssize_t limit)
    cpdef list read_from(self, EntryIDs ids, entry_id_t start, Py_ssize_t limit)
    cpdef bint exceeds_bytes(
        self, object start, object end, Py_ssize_t limit, Py_ssize_t max_bytes, bint is_reverse
    ) except -1
    cdef Py_ssize_t _lowest(self, entry_id_t entry_id) except -1
    @cython.locals(key=entry_id_t, following=entry_id_t)
    cdef bint _is_in(self, Py_ssize_t index, entry_id_t entry_id) except -1
    cdef bint _ends_before(self, Py_ssize_t index, entry_id_t entry_id) except -1
    cdef Py_ssize_t _index(self, object entry_id)
    cdef long _node_bytes(self, Py_ssize_t index)
    cdef long _span_bytes(self, Py_ssize_t start, Py_ssize_t end)
    cdef _put(self, Py_ssize_t index, object node)
    cpdef note_change(self, object node, long former_bytes)


cdef Py_ssize_t _unpacked_bytes(object node) except -1
cdef object _shape_of(object node)
cdef object _form_of(object node)
