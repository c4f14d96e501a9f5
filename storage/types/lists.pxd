# The C types of storage/types/lists.py.

from storage.memory cimport bytes_object_bytes, put_bytes
from storage.redis_format.listpack_elements cimport (
    element_bytes,
    next_equal,
    place_after,
    place_before,
    word_at,
    words_at,
    write_word,
)
from storage.types.blocks cimport filled, new_bytes
from storage.types.list_nodes cimport bulks_at, encoded, max_count
from storage.types.quicklist cimport Quicklist
from storage.types.value cimport Value


cdef Py_ssize_t _FEW_BYTES
cdef Py_ssize_t _FRAME_BYTES
cdef long _OWN_BYTES


cdef class ListValue(Value):
    cdef bytes _few
    cdef Quicklist _many
    cdef public Py_ssize_t _length

    cdef Quicklist _quicklist(self)
    cdef Quicklist _unpack(self)
    cdef _pack(self, Py_ssize_t most_bytes)
    cdef bint _are_few(self, list[bytes] items, object limits) except -1
    cdef Py_ssize_t _place_of(self, Py_ssize_t index) except -1
    cpdef bytes at(self, Py_ssize_t index)
    cpdef bytes bulks(self, bytes head, Py_ssize_t start, Py_ssize_t end)
    cpdef push_left(self, list[bytes] items, object limits)
    cpdef push_right(self, list[bytes] items, object limits)
    cpdef list pop_left(self, Py_ssize_t count)
    cpdef list pop_right(self, Py_ssize_t count)
    cpdef shrink(self, object limits)
    cpdef object trim(self, Py_ssize_t start, Py_ssize_t end)
    cpdef Py_ssize_t remove(self, bytes item, long count) except -1
    cdef Py_ssize_t _remove_few(self, bytes element, long count) except -1
    cdef _finish(self, Quicklist many)


cdef bytes _joined(list[bytes] items, bytes few, bint in_front)
