# The C types of storage/snapshot/node_writer.py.

from cpython.list cimport PyList_GET_ITEM

from storage.entries.entry_id cimport id_ms, id_seq
from storage.nodes.frozen_node cimport FrozenNode
from storage.memory cimport put_bytes
from storage.redis_format.listpack_writer cimport ListpackWriter
from storage.redis_format.lzf cimport Compressor
from storage.snapshot.node_encoder cimport NodeEncoder


cdef Py_ssize_t _KEY_BYTES
cdef Py_ssize_t _FRAME_BYTES
cdef int _LZF

cdef Py_ssize_t _put_length(
    unsigned char* out, Py_ssize_t place, unsigned long long number
) noexcept
cdef Py_ssize_t _put_big_endian(
    unsigned char* out, Py_ssize_t place, unsigned long long number, Py_ssize_t size
) noexcept


cdef class NodeWriter:
    cdef bint _compress
    cdef Compressor _compressor
    cdef NodeEncoder _encoder
    cdef bytearray _memory
    cdef bytearray _packed
    cdef readonly Py_ssize_t size

    cpdef bytes take(self)
    cpdef Py_ssize_t put_from(self, list nodes, Py_ssize_t index, Py_ssize_t most) except -1
    cpdef put_any(self, object node)
    cpdef put_string(self, object key, bytes string)
    cpdef put(self, object node)
    cdef Py_ssize_t _begin(
        self, unsigned long long ms, unsigned long long seq, Py_ssize_t size
    ) except -1


# An item of a list, used where it is: a variable would count a reference to it.

cdef inline put_item(NodeWriter writer, list nodes, Py_ssize_t index):
    """put_any() of an item of a list."""
    if not isinstance(<object> PyList_GET_ITEM(nodes, index), FrozenNode):
        writer.put_any(<object> PyList_GET_ITEM(nodes, index))
    else:
        writer.put(<object> PyList_GET_ITEM(nodes, index))
