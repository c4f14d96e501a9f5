# The C types of storage/types/lists.py.

from storage.types.list_node cimport ListNode, exceeds
from storage.types.value cimport Value


cdef class ListValue(Value):
    cdef public object _nodes
    cdef public Py_ssize_t _first
    cdef public Py_ssize_t _length
    cdef public object _fill

    cpdef push_left(self, list[bytes] items, object limits)
    cpdef push_right(self, list[bytes] items, object limits)
    cdef ListNode _only_node(self)
    cdef bint _stays_listpack(self, list[bytes] items, object limits) except -1
    cdef _append(self, bytes item)
    cdef _prepend(self, bytes item)
