# The C types of storage/snapshot/node_encoder.py.

from storage.entries.entry_id cimport entry_id_t, id_ms, id_seq, IDProgression
from storage.entries.frame cimport EntryReader, FieldRow, Frame, Numbers
from storage.nodes.frozen_node cimport FrozenNode
from storage.redis_format.listpack_writer cimport ListpackWriter, put_number


cdef NodeEncoder _ENCODER
cdef Py_ssize_t _ENTRY_FRAME_BYTES
cdef Py_ssize_t _SAME_NAMES
cdef Py_ssize_t _FRAME
cdef Py_ssize_t _OWN_NAMES_FRAME
cdef Py_ssize_t _MASTER_BYTES
cdef Py_ssize_t _ELEMENT_FRAME_BYTES

cdef long long _difference(unsigned long long number, unsigned long long base) noexcept


cdef class NodeEncoder:
    cdef readonly ListpackWriter listpack
    cdef readonly unsigned long long key_ms
    cdef readonly unsigned long long key_seq
    cdef EntryReader _reader
    cdef list _names
    cdef object _layout
    cdef FieldRow _row

    cpdef encode(self, object node)
    cdef _encode_frozen(self, FrozenNode node)
    cdef _encode_rows(self, FrozenNode node, FieldRow row)
    cdef _encode_stripped(self, FrozenNode node, Frame frame)
    cdef _begin(self, Py_ssize_t live, list[bytes] names, Py_ssize_t room)
    cdef _encode_payload(self, Py_ssize_t live, bytes payload)
    cdef _put_names(self, bytes payload, const unsigned char* data, Py_ssize_t words)
    cdef void _put_id(
        self, Py_ssize_t flag, unsigned long long ms, unsigned long long seq
    ) noexcept
    cdef bint _put_values(self, const unsigned char* data) noexcept
    cdef void _put_words(self, const unsigned char* data, Py_ssize_t words) noexcept
