"""A stream as the body of an RDB value: types 15, 19, 21, 26 and 27.

The types have the same parts in the same order; each adds to the one before it. The fields are
numbered in docs/architecture/snapshots.md, and storage/snapshot/stream_decoder.py reads them.

    type  since  adds
    15    5.0    nodes, length, last ID, groups, pending entries, consumers
    19    7.0    first ID, greatest deleted ID, entries added; entries read by a group
    21    7.2    when a consumer was last active
    26    8.6    producers and their messages (IDMP)
    27    8.8    entries that were released (XNACK)

What is written: deleted entries are left out, and so are messages of producers that are too old.
Groups and consumers are in the order of their names, as Redis has them, so that equal streams give
equal bytes. A node that was never unpacked is written as it is.

A type that is lower than `stream_type` says loses what it has no field for. Entries that were
released are not among that: to leave them out would acknowledge messages that were not processed,
and no Redis before 8.8 loads pending entries without an owner. They become those of a consumer with
the empty name, which is how XPENDING shows that they have none, as delivered at the time 0: the
first XAUTOCLAIM or XCLAIM gets them, whatever idle time it asks for. Their counts of deliveries
stay. Only the order of their releases is lost, and that they have no owner.

A `NodeEncoder` writes a node as the listpack that Redis has for it (storage/snapshot/stream_node.py
reads them), without deleted entries. A `NodeWriter` writes nodes with their keys into one buffer, a
`GroupWriter` groups. Compiled, no object is made of a key, an ID, a time, a word, the listpack or
what LZF makes of it:

* Values of a frozen node that has a layout or a frame go from its packed form into the listpack.
  Its entries have the same names, and are not restored.
* Entries of other nodes are taken in the form of a reply; the encoder walks over their bytes.

A child that saves a snapshot shares the nodes' memory with the server. So nodes are only read: no
reference to a frozen node or its blob is counted, which would copy a page of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import cython

from storage.entries.entry import EntryReader, FieldRow, Frame, Numbers
from storage.entries.entry_id import (
    MAX_SEQ,
    MIN_ID,
    SEQ_BITS,
    EntryID,
    IDProgression,
    id_ms,
    id_seq,
)
from storage.entries.packed_form import Layout
from storage.groups.group import UNKNOWN, Consumer, Group
from storage.groups.pending_block import LARGE_COUNT, ROW_BYTES, Block, Share
from storage.idempotence import Idempotence
from storage.nodes.frozen_node import FrozenNode, Node
from storage.nodes.listpack_node import ListpackNode, listpack_data
from storage.nodes.node_list import AnyNode
from storage.redis_format.listpack_elements import ELEMENT_FRAME_BYTES, ListpackWriter
from storage.redis_format.lzf import Compressor
from storage.redis_format.primitives import (
    COMPRESS_MIN_BYTES,
    LZF,
    Compressed,
    encode_compressed,
    encode_length,
    encode_string,
)
from storage.snapshot.stream_node import (
    FRAME_ELEMENTS,
    MASTER_FRAME_ELEMENTS,
    OWN_NAMES_FRAME_ELEMENTS,
    SAME_NAMES,
)
from storage.stream import Stream
from storage.zstd import decompress

if not cython.compiled:
    # Compiled, it is in the C types.
    def put_number(listpack: ListpackWriter, number: int) -> None:
        """put_integer(), as a function."""
        listpack.put_integer(number)


# The most that an entry takes in a listpack beside the bytes that it is kept in.
_ENTRY_FRAME_BYTES: cython.Py_ssize_t = OWN_NAMES_FRAME_ELEMENTS * ELEMENT_FRAME_BYTES

_ELEMENT_FRAME_BYTES: cython.Py_ssize_t = ELEMENT_FRAME_BYTES
_SAME_NAMES: cython.Py_ssize_t = SAME_NAMES
_FRAME: cython.Py_ssize_t = FRAME_ELEMENTS
_OWN_NAMES_FRAME: cython.Py_ssize_t = OWN_NAMES_FRAME_ELEMENTS


def encode_node(node: Node) -> bytes:
    """The listpack of a node's live entries, of which there must be one."""
    _ENCODER.encode(node)
    return _ENCODER.listpack.content()


@cython.cclass
class NodeEncoder:
    """Encodes one node after the other; `listpack` has the last one.

    `key_ms` and `key_seq` are the halves of its key.
    """

    def __init__(self) -> None:
        self.listpack = ListpackWriter()
        self.key_ms = self.key_seq = 0
        self._reader = EntryReader()
        self._names: list[bytes] = []  # of the first entry, as bulk strings
        # The nodes of a stream share a layout: its row is kept.
        self._layout: Layout | None = None
        self._row = FieldRow(b"", [], is_number=False)

    def encode(self, node: Node) -> None:
        """Write the listpack of a node's live entries, of which there must be one."""
        self.key_ms = id_ms(node.key)
        self.key_seq = id_seq(node.key)
        if isinstance(node, FrozenNode):
            self._encode_frozen(cython.cast(FrozenNode, node))
        else:
            self._encode_payload(node.live, node.payload())

    def _encode_frozen(self, node: FrozenNode) -> None:
        form = node.form
        if form is self._layout or isinstance(form, Layout):
            if form is not self._layout:
                self._layout, self._row = form, form.row()
            row: FieldRow = self._row
            if row.is_plain:
                self._encode_rows(node, row)
                return
        elif isinstance(form, Frame):
            self._encode_stripped(node, cython.cast(Frame, form))
            return
        self._encode_payload(node.live, node.payload())

    def _encode_rows(self, node: FrozenNode, row: FieldRow) -> None:
        """Encode a node that has a layout, with the fields of one entry after the other."""
        listpack: ListpackWriter = self.listpack
        alive = node.alive()
        packed: cython.p_const_uchar = node.blob
        count: cython.Py_ssize_t = node.ids.count
        width: cython.Py_ssize_t = row.width
        step_ms: cython.Py_ssize_t = 0 if cython.cast(IDProgression, node.ids).step == 1 else 1
        ms: cython.ulonglong = id_ms(node.ids.at(node.key, 0))
        seq: cython.ulonglong = id_seq(node.ids.at(node.key, 0))
        # A text has fewer bytes than the bulk string that it is in.
        self._begin(node.live, row.names, node.live * row.size)
        place: cython.Py_ssize_t
        value: cython.Py_ssize_t
        for place in range(count):
            if alive is None or alive[place]:
                row.fill(packed, count, place)
                self._put_id(_SAME_NAMES, ms, seq)
                for value in range(width):
                    listpack.put_word(row.text, row.starts[value], row.lengths[value])
                put_number(listpack, width + _FRAME - 1)
            ms += step_ms
            seq += 1 - step_ms
        listpack.finish()

    def _encode_stripped(self, node: FrozenNode, frame: Frame) -> None:
        """Encode a node that has a frame, from the values of its stripped entries."""
        listpack: ListpackWriter = self.listpack
        alive = node.alive()
        stripped = decompress(node.copied_blob())
        data: cython.p_const_uchar = stripped
        count: cython.Py_ssize_t = node.ids.count
        width: cython.Py_ssize_t = len(frame.names)
        ids = Numbers(stripped)
        values = Numbers(stripped)
        values.pass_over(2 * count)
        ms: cython.ulonglong = id_ms(node.ids.at(node.key, 0))
        seq: cython.ulonglong = id_seq(node.ids.at(node.key, 0))
        # A value has its bytes there, and no more than a frame in the listpack.
        room: cython.Py_ssize_t = len(stripped) + count * width * _ELEMENT_FRAME_BYTES
        self._begin(node.live, frame.names, room)
        place: cython.Py_ssize_t
        is_live: cython.bint
        elapsed: cython.ulonglong
        length: cython.Py_ssize_t
        for place in range(count):
            elapsed = ids.next()
            seq = ids.next() + (0 if elapsed else seq)
            ms += elapsed
            is_live = alive is None or alive[place] != 0
            if is_live:
                self._put_id(_SAME_NAMES, ms, seq)
            for _ in range(width):
                length = values.next()
                if is_live:
                    listpack.put_word(data, values.place, length)
                values.place += length
            if is_live:
                put_number(listpack, width + _FRAME - 1)
        listpack.finish()

    def _begin(self, live: cython.Py_ssize_t, names: list[bytes], room: cython.Py_ssize_t) -> None:
        """Write the master entry. `room`: for the values of all entries."""
        listpack: ListpackWriter = self.listpack
        name: bytes
        for name in names:
            room += len(name) + _ELEMENT_FRAME_BYTES
        listpack.begin(room + live * _ENTRY_FRAME_BYTES + _MASTER_BYTES)
        listpack.put_integer(live)
        listpack.put_integer(0)
        listpack.put_integer(len(names))
        for name in names:
            listpack.put_word(name, 0, len(name))
        listpack.put_integer(0)

    def _encode_payload(self, live: cython.Py_ssize_t, payload: bytes) -> None:
        """Encode entries in the form of a reply, one after the other."""
        data: cython.p_const_uchar = payload
        listpack: ListpackWriter = self.listpack
        reader: EntryReader = self._reader
        reader.load(payload)
        first_words: cython.Py_ssize_t = reader.read_head()
        # The names of the first entry are written twice if the next ones have others.
        listpack.begin(2 * len(payload) + live * _ENTRY_FRAME_BYTES + _MASTER_BYTES)
        listpack.put_integer(live)
        listpack.put_integer(0)
        listpack.put_integer(first_words // 2)
        self._put_names(payload, data, first_words)
        listpack.put_integer(0)
        reader.load(payload)
        words: cython.Py_ssize_t
        fields: cython.Py_ssize_t
        place: cython.Py_ssize_t
        count: cython.Py_ssize_t
        while reader.place < reader.end:
            words = reader.read_head()
            fields, place, count = reader.place, listpack.place, listpack.count
            self._put_id(_SAME_NAMES, reader.ms, reader.seq)
            if words == first_words and self._put_values(data):
                listpack.put_integer(words // 2 + _FRAME - 1)
                continue
            # It has other names, which shows at one of them: again, with names.
            reader.place, listpack.place, listpack.count = fields, place, count
            self._put_id(0, reader.ms, reader.seq)
            listpack.put_integer(words // 2)
            self._put_words(data, words)
            listpack.put_integer(words + _OWN_NAMES_FRAME - 1)
        listpack.finish()

    @cython.cfunc
    def _put_names(
        self, payload: bytes, data: cython.p_const_uchar, words: cython.Py_ssize_t
    ) -> None:
        """Read the first entry's fields; write their names, and keep them."""
        reader: EntryReader = self._reader
        self._names = []
        start: cython.Py_ssize_t
        for _ in range(words // 2):
            start = reader.place
            reader.read_word()
            self.listpack.put_word(data, reader.start, reader.length)
            self._names.append(payload[start : reader.place])
            reader.read_word()

    def _put_id(self, flag: cython.Py_ssize_t, ms: cython.ulonglong, seq: cython.ulonglong) -> None:
        """Write what an entry begins with."""
        listpack: ListpackWriter = self.listpack
        put_number(listpack, flag)
        put_number(listpack, _difference(ms, self.key_ms))
        put_number(listpack, _difference(seq, self.key_seq))

    def _put_values(self, data: cython.p_const_uchar) -> cython.bint:
        """Read an entry's fields, and write the values; False where a name is another one."""
        reader: EntryReader = self._reader
        name: bytes
        for name in self._names:
            if not reader.pass_over(name):
                return False
            reader.read_word()
            self.listpack.put_word(data, reader.start, reader.length)
        return True

    def _put_words(self, data: cython.p_const_uchar, words: cython.Py_ssize_t) -> None:
        """Read an entry's fields, and write names and values."""
        reader: EntryReader = self._reader
        for _ in range(words):
            reader.read_word()
            self.listpack.put_word(data, reader.start, reader.length)


_MASTER_BYTES: cython.Py_ssize_t = MASTER_FRAME_ELEMENTS * ELEMENT_FRAME_BYTES


def _difference(number: cython.ulonglong, base: cython.ulonglong) -> cython.long:
    """The difference modulo 2**64, with a sign."""
    if not cython.compiled:
        return (number - base + 2**63) % 2**64 - 2**63
    difference: cython.long = cython.cast(cython.long, number - base)
    return difference


_ENCODER = NodeEncoder()


if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.groups.pending_block import _numbers
    from storage.memory import put_bytes

    # Compiled, it is in the C types as well, and counts no reference.
    def put_item(writer: NodeWriter, nodes: list[AnyNode], index: int) -> None:
        """put_any() of an item of a list."""
        writer.put_any(nodes[index])


_KEY_BYTES: cython.Py_ssize_t = 16
_TIME_BYTES: cython.Py_ssize_t = 8
_LENGTH_BYTES: cython.Py_ssize_t = 9  # at most
# The most that a node takes beside its listpack: a key, and three lengths.
_FRAME_BYTES: cython.Py_ssize_t = _KEY_BYTES + 3 * _LENGTH_BYTES
# A buffer grows by this much more than it needs.
_SPARE_BYTES: cython.Py_ssize_t = 4096

# A row of a block: the halves of the ID, time, state.
_ROW_WORDS: cython.Py_ssize_t = ROW_BYTES // 8
_SLOT_BITS: cython.Py_ssize_t = 32
_LARGE_COUNT: cython.ulonglong = LARGE_COUNT
# What numbers begin with, and the empty text.
_INTEGER_BEGINS = frozenset(b" - 0 1 2 3 4 5 6 7 8 9".split(b" "))

# Memory is used again, unless it was as much as that.
_KEPT_BYTES = 1 << 20

_LZF: cython.int = LZF


@cython.cclass
class PieceWriter:
    """A buffer, of which `size` bytes are written."""

    def __init__(self, *, compress: bool) -> None:
        """`compress`: compress strings with LZF where that makes them shorter."""
        self._compress = compress
        self._memory = bytearray()
        self.size = 0

    def take(self) -> bytes:
        """Return the content of the buffer, and empty it."""
        piece = bytes(memoryview(self._memory)[: self.size])
        self.size = 0
        if len(self._memory) > _KEPT_BYTES:
            self._memory = bytearray()
        return piece

    @cython.cfunc
    def _reserve(self, size: cython.Py_ssize_t) -> None:
        """Make room for that many bytes."""
        missing: cython.Py_ssize_t = self.size + size - len(self._memory)
        if missing > 0:
            self._memory.extend(bytes(missing + _SPARE_BYTES))


@cython.cclass
class NodeWriter(PieceWriter):
    """A buffer of nodes."""

    def __init__(self, *, compress: bool) -> None:
        PieceWriter.__init__(self, compress=compress)
        self._compressor = Compressor()
        self._encoder = NodeEncoder()
        self._packed = bytearray()

    def put_from(
        self, nodes: list[AnyNode], index: cython.Py_ssize_t, most: cython.Py_ssize_t
    ) -> int:
        """Add nodes from an index on, up to `most` bytes or little more.

        Returns the index after them.
        """
        while index < len(nodes) and self.size < most:
            put_item(self, nodes, index)
            index += 1
        return index

    def put_any(self, node: AnyNode) -> None:
        """Add a node in whatever form it has."""
        if isinstance(node, ListpackNode):
            self.put_string(node.key, _kept_listpack(node, compress=self._compress))
        else:
            self.put(node)

    def put_string(self, key: EntryID, string: bytes) -> None:
        """Add a node whose listpack is encoded as a string already."""
        place: cython.Py_ssize_t = self._begin(id_ms(key), id_seq(key), len(string))
        self.size = put_bytes(self._memory, place, string, 0, len(string))

    def put(self, node: Node) -> None:
        """Add a node that is unpacked."""
        encoder: NodeEncoder = self._encoder
        encoder.encode(node)
        listpack: ListpackWriter = encoder.listpack
        size: cython.Py_ssize_t = listpack.place
        packed: cython.Py_ssize_t = -1
        if self._compress:
            if len(self._packed) < size or len(self._packed) > _KEPT_BYTES:
                self._packed = bytearray(size)
            data: cython.p_const_uchar = listpack.out  # type: ignore[assignment]
            packed = self._compressor.compress(data, size, self._packed, 0)
        place: cython.Py_ssize_t = self._begin(encoder.key_ms, encoder.key_seq, size)
        out: cython.p_uchar = self._memory
        if packed < 0:
            place = _put_length(out, place, size)
            self.size = put_bytes(out, place, listpack.out, 0, size)  # type: ignore[arg-type]
            return
        out[place] = _LZF
        place = _put_length(out, place + 1, packed)
        place = _put_length(out, place, size)
        self.size = put_bytes(out, place, self._packed, 0, packed)  # type: ignore[arg-type]

    def _begin(
        self, ms: cython.ulonglong, seq: cython.ulonglong, size: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Write a node's key, and make room for a string of `size` bytes; where it begins."""
        place: cython.Py_ssize_t = self.size
        self._reserve(size + _FRAME_BYTES)
        out: cython.p_uchar = self._memory
        place = _put_length(out, place, _KEY_BYTES)
        _put_big_endian(out, place, ms, 8)
        _put_big_endian(out, place + 8, seq, 8)
        return place + _KEY_BYTES


def _kept_listpack(node: ListpackNode, *, compress: bool) -> bytes:
    """The listpack of a node that was not unpacked since it was loaded, as a string."""
    listpack = node.listpack
    if not isinstance(listpack, Compressed):
        return encode_string(listpack_data(listpack), compress=compress)
    if compress:
        return encode_compressed(listpack)
    try:
        return encode_string(listpack.data(), compress=False)
    except ValueError:
        # A damaged node is no reason to save nothing at all, and Redis reads either form.
        return encode_compressed(listpack)


def _put_length(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write what encode_length() of storage/redis_format/primitives.py makes of a number."""
    if number < 1 << 6:
        out[place] = number
        return place + 1
    if number < 1 << 14:
        _put_big_endian(out, place, number | 0x4000, 2)
        return place + 2
    size: cython.Py_ssize_t = 4 if number >> 32 == 0 else 8
    out[place] = 0x80 if size == 4 else 0x81
    _put_big_endian(out, place + 1, number, size)
    return place + 1 + size


def _put_time(out: cython.p_uchar, place: cython.Py_ssize_t, ms: cython.long) -> cython.Py_ssize_t:
    """Write a time, the lowest byte first; the place after."""
    index: cython.Py_ssize_t
    for index in range(_TIME_BYTES):
        out[place + index] = ms >> 8 * index & 0xFF
    return place + _TIME_BYTES


def _put_big_endian(
    out: cython.p_uchar,
    place: cython.Py_ssize_t,
    number: cython.ulonglong,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write the lowest `size` bytes of a number, the highest of them first; the place after."""
    index: cython.Py_ssize_t
    for index in range(size):
        out[place + index] = number >> 8 * (size - 1 - index) & 0xFF
    return place + size


@cython.cclass
class GroupWriter(PieceWriter):
    """A buffer of groups, of what is pending and of consumers."""

    def put_head(self, group: Group, with_read: cython.bint) -> None:
        """Add a group up to the number of its pending entries."""
        self._put_string(group.name)
        self.put_length(group.last_delivered_id >> SEQ_BITS)
        self.put_length(group.last_delivered_id & MAX_SEQ)
        if with_read:
            self.put_length(UNKNOWN_CODE if group.entries_read == UNKNOWN else group.entries_read)
        self.put_length(len(group.pending))

    def put_entries(self, block: Block) -> None:
        """Add the entries of a block: ID, time and number of deliveries."""
        words: cython.p_ulonglong = _numbers(block)
        at: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t = len(block.words)
        self._reserve(end // _ROW_WORDS * (_KEY_BYTES + _TIME_BYTES + _LENGTH_BYTES))
        out: cython.p_uchar = self._memory
        place: cython.Py_ssize_t = self.size
        deliveries: cython.ulonglong
        while at < end:
            place = _put_big_endian(out, place, words[at], 8)
            place = _put_big_endian(out, place, words[at + 1], 8)
            place = _put_time(out, place, words[at + 2])
            deliveries = words[at + 3] & _LARGE_COUNT
            if deliveries == _LARGE_COUNT:
                deliveries = block.entry(at // _ROW_WORDS).delivery_count
            place = _put_length(out, place, deliveries)
            at += _ROW_WORDS
        self.size = place

    def put_owner(
        self, owner: Consumer, released: cython.Py_ssize_t, with_active: cython.bint
    ) -> None:
        """Add a consumer up to the number of its pending entries, with those released."""
        self._put_string(owner.name)
        self._reserve(2 * _TIME_BYTES)
        self.size = _put_time(self._memory, self.size, owner.seen_ms)
        if with_active:
            self.size = _put_time(self._memory, self.size, owner.active_ms)
        self.put_length(owner.pending_count + released)

    def put_ids(self, block: Block, owner: Consumer, with_released: cython.bint) -> None:
        """Add the IDs of the entries that a consumer has in a block."""
        share: Share | None = block.shares.get(owner)
        slot: cython.ulonglong = 0 if share is None else share.slot  # 0: released
        words: cython.p_ulonglong = _numbers(block)
        at: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t = len(block.words)
        left: cython.Py_ssize_t = end
        if not with_released:
            left = 0 if share is None else share.count
        self._reserve(min(left, end // _ROW_WORDS) * _KEY_BYTES)
        out: cython.p_uchar = self._memory
        owner_slot: cython.ulonglong
        while at < end and left:
            owner_slot = words[at + 3] >> _SLOT_BITS
            if owner_slot == slot or (with_released and not owner_slot):
                self.size = _put_big_endian(out, self.size, words[at], 8)
                self.size = _put_big_endian(out, self.size, words[at + 1], 8)
                left -= 1
            at += _ROW_WORDS

    def put_id(self, entry_id: EntryID) -> None:
        """Add an ID."""
        self._reserve(_KEY_BYTES)
        self.size = _put_big_endian(self._memory, self.size, id_ms(entry_id), 8)
        self.size = _put_big_endian(self._memory, self.size, id_seq(entry_id), 8)

    def put_length(self, number: cython.ulonglong) -> None:
        """Add a number."""
        self._reserve(_LENGTH_BYTES)
        self.size = _put_length(self._memory, self.size, number)

    @cython.cfunc
    def _put_string(self, text: bytes) -> None:
        size: cython.Py_ssize_t = len(text)
        # An integer, or worth compressing.
        if text[:1] in _INTEGER_BEGINS or (self._compress and size >= COMPRESS_MIN_BYTES):
            text = encode_string(text, compress=self._compress)
            size = len(text)
        else:
            self.put_length(size)
        self._reserve(size)
        self.size = put_bytes(self._memory, self.size, text, 0, size)


TYPE_COUNTERS = 19
TYPE_ACTIVE_TIME = 21
TYPE_IDEMPOTENCE = 26
TYPE_RELEASED = 27
STREAM_TYPES = frozenset({15, 19, 21, 26, 27})

# The number that stands for entries_read of a group that does not know it.
UNKNOWN_CODE = 2**64 - 1

# The consumer that owns released entries in a type without a field for them.
NOBODY = b""

# The size of the pieces, or little less than what they have.
PIECE_BYTES = 64 * 1024


def stream_type(stream: Stream) -> int:
    """The lowest type from 21 on that has a field for everything in the stream."""
    if any(group.nacked_count for group in stream.groups.values()):
        return TYPE_RELEASED
    return TYPE_ACTIVE_TIME if stream.idempotence is None else TYPE_IDEMPOTENCE


def stream_pieces(
    stream: Stream, stream_type: int, *, compress: bool, now_ms: int
) -> Iterator[bytes]:
    """The body of a stream in pieces: some nodes, or some groups, consumers or pending entries.

    The type byte itself is the caller's. `now_ms`: messages of producers that have expired by then
    are left out.
    """
    assert stream_type in STREAM_TYPES
    yield from _nodes(stream, compress)
    yield encode_length(stream.length) + _id_lengths(stream.last_id)
    if stream_type >= TYPE_COUNTERS:
        yield _id_lengths(stream.first_id) + _id_lengths(stream.max_deleted_id)
        yield encode_length(stream.entries_added)
    yield encode_length(len(stream.groups))
    yield from _groups(stream, stream_type, compress, now_ms)
    if stream_type >= TYPE_IDEMPOTENCE:
        yield from _idempotence(stream.idempotence or Idempotence(), compress, now_ms)


def _id_lengths(entry_id: EntryID) -> bytes:
    return encode_length(entry_id >> SEQ_BITS) + encode_length(entry_id & MAX_SEQ)


# -- nodes -------------------------------------------------------------------------------------


def _nodes(stream: Stream, compress: bool) -> Iterator[bytes]:
    nodes, index = stream.node_items()
    yield encode_length(len(nodes) - index)
    writer = NodeWriter(compress=compress)
    while index < len(nodes):
        index = writer.put_from(nodes, index, PIECE_BYTES)
        yield writer.take()


# -- groups ------------------------------------------------------------------------------------


def _groups(stream: Stream, stream_type: int, compress: bool, now_ms: int) -> Iterator[bytes]:
    writer = GroupWriter(compress=compress)
    for _, group in sorted(stream.groups.items()):
        for _ in _group_parts(writer, group, stream_type, now_ms):
            if writer.size >= PIECE_BYTES:
                yield writer.take()
    yield writer.take()


def _group_parts(
    writer: GroupWriter, group: Group, stream_type: int, now_ms: int
) -> Iterator[None]:
    """Write a group in small parts, in steps of the iterator."""
    writer.put_head(group, stream_type >= TYPE_COUNTERS)
    for block in group.pending.blocks_from(MIN_ID) if group.pending.length else ():
        writer.put_entries(block)
        yield
    owners, nobody = group.consumers, None
    if stream_type < TYPE_RELEASED and group.nacked_count:  # see the module
        nobody = owners.get(NOBODY) or Consumer(NOBODY, now_ms)
        owners = {**owners, NOBODY: nobody}
    writer.put_length(len(owners))
    for name in sorted(owners):
        owner = owners[name]
        released = group.nacked_count if owner is nobody else 0
        writer.put_owner(owner, released, stream_type >= TYPE_ACTIVE_TIME)
        yield
        for block in _blocks_of(group, owner, released):
            writer.put_ids(block, owner, released > 0)
            yield
    if stream_type >= TYPE_RELEASED:
        writer.put_length(group.nacked_count)
        for entry_id in group.nacked_ids():
            writer.put_id(entry_id)
            yield


def _blocks_of(group: Group, owner: Consumer, released: int) -> Iterable[Block]:
    """The blocks in which a consumer has entries, or may have those that were released."""
    if released:
        return group.pending.blocks_from(MIN_ID)
    blocks: Iterable[Block] = owner.pending_blocks.values() if owner.pending_count else ()
    return blocks


# -- idempotent producing ----------------------------------------------------------------------


def _idempotence(memory: Idempotence, compress: bool, now_ms: int) -> Iterator[bytes]:
    yield encode_length(memory.duration_s) + encode_length(memory.maxsize)
    producers = memory.current(now_ms)
    yield encode_length(len(producers))
    for pid, messages in sorted(producers.items()):
        yield encode_string(pid, compress=compress) + encode_length(len(messages))
        for iid, entry_id in messages.items():
            yield encode_string(iid, compress=compress) + _id_lengths(entry_id)
    yield encode_length(memory.added) + encode_length(memory.duplicates)
