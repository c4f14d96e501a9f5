# The C types of storage/types/quicklist.py.

from storage.memory cimport list_bytes
from storage.types.list_nodes cimport ListNode, exceeds, max_bytes, max_count


cdef long _OWN_BYTES


cdef class Quicklist:
    cdef public list _nodes
    cdef public Py_ssize_t _head
    cdef long _inner_bytes
    cdef public Py_ssize_t _first
    cdef public Py_ssize_t _length
    cdef public bint is_quicklist
    cdef public long _fill

    cpdef bytes few(self, Py_ssize_t most_bytes)
    cpdef long memory_bytes(self)
    cdef Py_ssize_t _node_at(self, Py_ssize_t index) except -1
    cpdef bytes at(self, Py_ssize_t index)
    cpdef bytes bulks(self, bytes head, Py_ssize_t start, Py_ssize_t end)
    cpdef push_left(self, list[bytes] items, object limits)
    cpdef push_right(self, list[bytes] items, object limits)
    cdef bint _stays_listpack(self, list[bytes] items, object limits) except -1
    cdef _append(self, bytes item)
    cdef _prepend(self, bytes item)
    cdef _put_first(self, ListNode node)
    cdef _drop_first(self)
    cdef _close_gap(self)
    cpdef list pop_left(self, Py_ssize_t count)
    cpdef list pop_right(self, Py_ssize_t count)
    cpdef shrink(self, object limits)
    cdef long _nodes_bytes(self)
    cdef _measure(self, long nodes_bytes)


cdef long _bytes_of(list[ListNode] nodes)
