# The C types of storage/snapshot/node_encoder.py.

from storage.entries.entry_id cimport id_ms, id_seq
from storage.entries.entry_reader cimport EntryReader
from storage.redis_format.listpack_writer cimport ListpackWriter


cdef NodeEncoder _ENCODER
cdef Py_ssize_t _ENTRY_FRAME_BYTES
cdef Py_ssize_t _SAME_NAMES
cdef Py_ssize_t _FRAME
cdef Py_ssize_t _OWN_NAMES_FRAME
cdef Py_ssize_t _MASTER_BYTES

cdef long long _difference(unsigned long long number, unsigned long long base)


cdef class NodeEncoder:
    cdef readonly ListpackWriter listpack
    cdef EntryReader _reader
    cdef list _names

    cpdef encode(self, object node)
    cdef _put_names(self, bytes payload, const unsigned char* data, Py_ssize_t words)
    cdef _put_id(self, Py_ssize_t flag, unsigned long long key_ms, unsigned long long key_seq)
    cdef bint _put_values(self, const unsigned char* data)
    cdef _put_words(self, const unsigned char* data, Py_ssize_t words)
