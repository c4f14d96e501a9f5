# The C types of storage/types/list_nodes.py.

from protocol.python_api cimport PyByteArray_FromStringAndSize
from storage.memory cimport bytearray_bytes, bytes_object_bytes, move_bytes, put_bytes
from storage.redis_format.listpack_elements cimport (
    count_plain,
    element_bytes,
    next_equal,
    place_after,
    place_before,
    put_bulks,
    word_at,
    words_at,
    write_word,
)


cdef Py_ssize_t _SMALLEST_NODE_BYTES
cdef long _MOST_DOUBLINGS
cdef Py_ssize_t _COUNTED_NODE_BYTES
cdef Py_ssize_t _NO_LIMIT
cdef Py_ssize_t _ELEMENT_MARGIN_BYTES
cdef Py_ssize_t _HEADER_BYTES
cdef Py_ssize_t _EMPTY_BYTES
cdef Py_ssize_t _FRAME_BYTES
cdef Py_ssize_t _BULK_BYTES
cdef Py_ssize_t _SMALL_BYTES
cdef Py_ssize_t _LEAST_ROOM_BYTES
cdef Py_ssize_t _KEPT_BYTES
cdef long _NODE_BYTES


cdef class _Scratch:
    cdef bytearray memory


cdef _Scratch _SCRATCH


cdef class ListNode:
    cdef bytearray _text
    cdef Py_ssize_t _low
    cdef Py_ssize_t _high
    cdef bint _is_shared
    cdef public Py_ssize_t count
    cdef public bytes plain
    cdef public Py_ssize_t start

    cpdef Py_ssize_t size_bytes(self)
    cpdef long memory_bytes(self)
    cpdef ListNode copy(self)
    cpdef bytes elements(self)
    cdef Py_ssize_t _place_of(self, Py_ssize_t offset) except -1
    cpdef bytes at(self, Py_ssize_t offset)
    cpdef list slice(self, Py_ssize_t start, Py_ssize_t end)
    cpdef bytes bulks(self, bytes head, Py_ssize_t start, Py_ssize_t end)
    cpdef list offsets(self, bytes item)
    cpdef bint admits(self, bytes item, long fill) except -1
    cdef _make_room(self, Py_ssize_t size, bint in_front)
    cdef _move_to(self, Py_ssize_t room, Py_ssize_t low)
    cpdef append(self, bytes item)
    cpdef prepend(self, bytes item)
    cpdef insert(self, Py_ssize_t offset, bytes item)
    cpdef extend(self, list[bytes] items)
    cpdef extend_left(self, list[bytes] items)
    cpdef join(self, ListNode other)
    cpdef replace(self, Py_ssize_t offset, bytes item)
    cpdef list take(self, Py_ssize_t start, Py_ssize_t end)
    cpdef cut(self, Py_ssize_t start, Py_ssize_t end)
    cpdef ListNode split(self, Py_ssize_t offset)
    cpdef fit(self)


cdef bytes bulks_at(
    bytes head, const unsigned char* text, Py_ssize_t place, Py_ssize_t size, Py_ssize_t count
)
cdef bytes encoded(bytes item)
cpdef Py_ssize_t max_bytes(long fill) except -1
cpdef Py_ssize_t max_count(long fill) except -1
cpdef bint exceeds(long fill, Py_ssize_t size_bytes, Py_ssize_t count) except -1
