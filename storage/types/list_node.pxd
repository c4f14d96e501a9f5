# The C types of storage/types/list_node.py.

from storage.redis_format.listpack_size cimport element_bytes, elements_bytes


cdef Py_ssize_t _SMALLEST_NODE_BYTES
cdef long long _MOST_DOUBLINGS
cdef Py_ssize_t _COUNTED_NODE_BYTES
cdef Py_ssize_t _NO_LIMIT
cdef Py_ssize_t _ELEMENT_MARGIN_BYTES


cdef class ListNode:
    cdef public list items
    cdef public Py_ssize_t start
    cdef public bint is_plain
    cdef public Py_ssize_t size_bytes

    cpdef bint admits(self, bytes item, long long fill) except -1
    cpdef append(self, bytes item)
    cpdef insert(self, Py_ssize_t offset, bytes item)
    cpdef extend(self, list[bytes] items)
    cpdef extend_left(self, list[bytes] items)


cpdef Py_ssize_t max_bytes(long long fill) except -1
cpdef Py_ssize_t max_count(long long fill) except -1
cpdef bint exceeds(long long fill, Py_ssize_t size_bytes, Py_ssize_t count) except -1
