# The C types of storage/snapshot/node_writer.py.

from storage.entries.entry_id cimport id_ms, id_seq
from storage.raw_bytes cimport put_bytes
from storage.redis_format.listpack_writer cimport ListpackWriter
from storage.redis_format.lzf cimport Compressor
from storage.snapshot.node_encoder cimport NodeEncoder


cdef Py_ssize_t _KEY_BYTES
cdef Py_ssize_t _FRAME_BYTES
cdef int _LZF


cdef class NodeWriter:
    cdef bint _compress
    cdef Compressor _compressor
    cdef NodeEncoder _encoder
    cdef bytearray _memory
    cdef bytearray _packed
    cdef readonly Py_ssize_t size

    cpdef bytes take(self)
    cpdef put_string(self, object key, bytes string)
    cpdef put(self, object node)
    cdef Py_ssize_t _begin(self, object key, Py_ssize_t size) except -1
