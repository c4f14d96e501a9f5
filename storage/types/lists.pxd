# The C types of storage/types/lists.py.

from protocol.python_api cimport PyByteArray_FromStringAndSize
from storage.memory cimport bytearray_bytes, bytes_object_bytes, list_bytes, move_bytes, put_bytes
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
from storage.types.value cimport Value


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


cdef bytes _encoded(bytes item)
cpdef Py_ssize_t max_bytes(long fill) except -1
cpdef Py_ssize_t max_count(long fill) except -1
cpdef bint exceeds(long fill, Py_ssize_t size_bytes, Py_ssize_t count) except -1


cdef long _LIST_BYTES


cdef class ListValue(Value):
    cdef public list _nodes
    cdef public Py_ssize_t _head
    cdef long _inner_bytes
    cdef public Py_ssize_t _first
    cdef public Py_ssize_t _length
    cdef public bint is_quicklist
    cdef public long _fill

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
