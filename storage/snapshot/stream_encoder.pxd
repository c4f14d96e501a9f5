# The C types of storage/snapshot/stream_encoder.py.

from protocol.python_api cimport PyList_GET_ITEM
from storage.entries.entry cimport EntryReader, FieldRow, Frame, Numbers
from storage.entries.entry_id cimport entry_id_t, id_ms, id_seq, IDProgression
from storage.groups.group cimport Consumer, Group
from storage.groups.pending_block cimport Block, Share, _numbers
from storage.memory cimport put_bytes
from storage.nodes.frozen_node cimport FrozenNode
from storage.redis_format.listpack_elements cimport ListpackWriter
from storage.redis_format.lzf cimport Compressor


cdef NodeEncoder _ENCODER
cdef Py_ssize_t _ENTRY_FRAME_BYTES
cdef Py_ssize_t _SAME_NAMES
cdef Py_ssize_t _FRAME
cdef Py_ssize_t _OWN_NAMES_FRAME
cdef Py_ssize_t _MASTER_BYTES
cdef Py_ssize_t _ELEMENT_FRAME_BYTES

cdef long _difference(unsigned long long number, unsigned long long base) noexcept


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


cdef Py_ssize_t _KEY_BYTES
cdef Py_ssize_t _FRAME_BYTES
cdef Py_ssize_t _TIME_BYTES
cdef Py_ssize_t _LENGTH_BYTES
cdef Py_ssize_t _SPARE_BYTES
cdef Py_ssize_t _ROW_WORDS
cdef Py_ssize_t _SLOT_BITS
cdef unsigned long long _LARGE_COUNT
cdef frozenset _INTEGER_BEGINS
cdef int _LZF

cdef Py_ssize_t _put_length(
    unsigned char* out, Py_ssize_t place, unsigned long long number
) noexcept
cdef Py_ssize_t _put_big_endian(
    unsigned char* out, Py_ssize_t place, unsigned long long number, Py_ssize_t size
) noexcept


cdef Py_ssize_t _put_time(unsigned char* out, Py_ssize_t place, long ms) noexcept


cdef class PieceWriter:
    cdef bint _compress
    cdef bytearray _memory
    cdef readonly Py_ssize_t size

    cpdef bytes take(self)
    cdef _reserve(self, Py_ssize_t size)


cdef class GroupWriter(PieceWriter):
    cpdef put_head(self, Group group, bint with_read)
    cpdef put_entries(self, Block block)
    cpdef put_owner(self, Consumer owner, Py_ssize_t released, bint with_active)
    cpdef put_ids(self, Block block, Consumer owner, bint with_released)
    cpdef put_id(self, entry_id_t entry_id)
    cpdef put_length(self, unsigned long long number)
    cdef _put_string(self, bytes text)


cdef class NodeWriter(PieceWriter):
    cdef Compressor _compressor
    cdef NodeEncoder _encoder
    cdef bytearray _packed

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


cdef inline void put_number(ListpackWriter listpack, long number) noexcept:
    """put_integer(), without a call for one of 7 bits, as most in a node are."""
    if number < 0 or number > 127:
        listpack.put_integer(number)
        return
    listpack.out[listpack.place] = <unsigned char> number
    listpack.out[listpack.place + 1] = 1
    listpack.place += 2
    listpack.count += 1
