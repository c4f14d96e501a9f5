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
reads them), and a `NodeWriter` the nodes with their keys, in one buffer. Deleted entries are left
out. Compiled, no object is made of a key, an ID, a word, the listpack or what LZF makes of it:

* Values of a frozen node that has a layout or a frame go from its packed form into the listpack.
  Its entries have the same names, and are not restored.
* Entries of other nodes are taken in the form of a reply; the encoder walks over their bytes.

A child that saves a snapshot shares the nodes' memory with the server. So nodes are only read: no
reference to a frozen node or its blob is counted, which would copy a page of memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import TypeAlias

import cython

from storage.entries.entry import EntryReader, FieldRow, Frame, Numbers
from storage.entries.entry_id import (
    MAX_ID,
    MAX_SEQ,
    MIN_ID,
    SEQ_BITS,
    EntryID,
    IDProgression,
    id_ms,
    id_seq,
)
from storage.entries.packed_form import Layout
from storage.groups.group import NEVER, UNKNOWN, Group
from storage.groups.pending_block import Owner, PendingEntries
from storage.idempotence import Idempotence
from storage.nodes.frozen_node import FrozenNode, Node
from storage.nodes.listpack_node import ListpackNode, listpack_data
from storage.nodes.node_list import AnyNode
from storage.redis_format.listpack_elements import ELEMENT_FRAME_BYTES, ListpackWriter
from storage.redis_format.lzf import Compressor
from storage.redis_format.primitives import (
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
    # Compiled, they are C functions, which the module's C types import.
    from storage.redis_format.listpack_elements import put_number

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


def _difference(number: cython.ulonglong, base: cython.ulonglong) -> cython.longlong:
    """The difference modulo 2**64, with a sign."""
    if not cython.compiled:
        return (number - base + 2**63) % 2**64 - 2**63
    difference: cython.longlong = cython.cast(cython.longlong, number - base)
    return difference


_ENCODER = NodeEncoder()


if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.memory import put_bytes

    # Compiled, it is in the C types as well, and counts no reference.
    def put_item(writer: NodeWriter, nodes: list[AnyNode], index: int) -> None:
        """put_any() of an item of a list."""
        writer.put_any(nodes[index])


_KEY_BYTES: cython.Py_ssize_t = 16
# The most that a node takes beside its listpack: a key, and three lengths of nine bytes at most.
_FRAME_BYTES: cython.Py_ssize_t = _KEY_BYTES + 3 * 9

# Memory is used again, unless it was as much as that.
_KEPT_BYTES = 1 << 20

_LZF: cython.int = LZF


@cython.cclass
class NodeWriter:
    """A buffer of nodes; `size` is what they take."""

    def __init__(self, *, compress: bool) -> None:
        """`compress`: write listpacks that LZF makes shorter so."""
        self._compress = compress
        self._compressor = Compressor()
        self._encoder = NodeEncoder()
        self._memory = bytearray()
        self._packed = bytearray()
        self.size = 0

    def take(self) -> bytes:
        """The nodes in the buffer, which is empty then."""
        nodes = bytes(memoryview(self._memory)[: self.size])
        self.size = 0
        if len(self._memory) > _KEPT_BYTES:
            self._memory = bytearray()
            self._packed = bytearray()
        return nodes

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
            if len(self._packed) < size:
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
        missing: cython.Py_ssize_t = place + size + _FRAME_BYTES - len(self._memory)
        if missing > 0:
            self._memory.extend(bytes(missing))
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


# A consumer as it is written: name, seen_ms, active_ms, and the IDs of what it has, ascending: how
# many, and some at a time.
_Owner: TypeAlias = tuple[bytes, int, int, int, Iterable[list[EntryID]]]

TYPE_COUNTERS = 19
TYPE_ACTIVE_TIME = 21
TYPE_IDEMPOTENCE = 26
TYPE_RELEASED = 27
STREAM_TYPES = frozenset({15, 19, 21, 26, 27})

# The number that stands for entries_read of a group that does not know it.
UNKNOWN_CODE = 2**64 - 1

# The consumer that owns released entries in a type without a field for them.
NOBODY = b""

_MILLISECONDS = struct.Struct("<q")

# Most counts of deliveries are small: each is encoded once.
_encode_count = lru_cache(maxsize=256)(encode_length)

# Nodes are written in pieces of this size, or little more.
PIECE_BYTES = 64 * 1024
_IDS_IN_PIECE = 4096


def stream_type(stream: Stream) -> int:
    """The lowest type from 21 on that has a field for everything in the stream."""
    if any(group.nacked_count for group in stream.groups.values()):
        return TYPE_RELEASED
    return TYPE_ACTIVE_TIME if stream.idempotence is None else TYPE_IDEMPOTENCE


def stream_pieces(
    stream: Stream, stream_type: int, *, compress: bool, now_ms: int
) -> Iterator[bytes]:
    """The body of a stream in pieces: some nodes, or some hundred pending entries.

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
    for _, group in sorted(stream.groups.items()):
        yield from _group(group, stream_type, compress, now_ms)
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


def _group(group: Group, stream_type: int, compress: bool, now_ms: int) -> Iterator[bytes]:
    yield encode_string(group.name, compress=compress)
    yield _id_lengths(group.last_delivered_id)
    if stream_type >= TYPE_COUNTERS:
        read = group.entries_read
        yield encode_length(UNKNOWN_CODE if read == UNKNOWN else read)
    yield from _group_pending(group)
    owners: list[_Owner] = [
        (c.name, c.seen_ms, c.active_ms, len(c.pending), _ids_of(c.pending, c))
        for c in group.consumers.values()
    ]
    if stream_type < TYPE_RELEASED and group.nacked_count:
        owners = _with_nobody(owners, group, now_ms)
    yield encode_length(len(owners))
    for name, seen_ms, active_ms, count, ids in sorted(owners, key=itemgetter(0)):
        yield encode_string(name, compress=compress)
        yield _MILLISECONDS.pack(seen_ms)
        if stream_type >= TYPE_ACTIVE_TIME:
            yield _MILLISECONDS.pack(active_ms)
        yield from _ids(count, ids)
    if stream_type >= TYPE_RELEASED:
        released = group.nacked_ids()
        batches = iter(lambda: list(islice(released, _IDS_IN_PIECE)), [])
        yield from _ids(group.nacked_count, batches)


def _group_pending(group: Group) -> Iterator[bytes]:
    yield encode_length(len(group.pending))
    for ids, _, times_ms, counts in group.pending.lend(MIN_ID, MAX_ID):
        parts = [b""] * (3 * len(ids))
        parts[::3] = [entry_id.to_bytes(16, "big") for entry_id in ids]
        # Lists: compiled, a slice of a list takes nothing else.
        parts[1::3] = list(map(_MILLISECONDS.pack, times_ms))
        parts[2::3] = list(map(_encode_count, counts))
        yield b"".join(parts)


def _with_nobody(owners: list[_Owner], group: Group, now_ms: int) -> list[_Owner]:
    """The owners, with a nameless one for the released entries (see the module)."""
    nobody = group.consumers.get(NOBODY)
    ids = _ids_of(group.pending, None, nobody)
    if nobody is None:
        return [*owners, (NOBODY, now_ms, NEVER, group.nacked_count, ids)]
    count = group.nacked_count + nobody.pending_count
    others = [owner for owner in owners if owner[0] != NOBODY]
    return [*others, (NOBODY, nobody.seen_ms, nobody.active_ms, count, ids)]


def _ids_of(pending: PendingEntries, *owners: Owner | None) -> Iterator[list[EntryID]]:
    """The IDs of what these consumers have, ascending, those of a block at a time."""
    for ids, names, _, _ in pending.lend(MIN_ID, MAX_ID):
        yield [entry_id for entry_id, name in zip(ids, names, strict=True) if name in owners]


def _ids(count: int, batches: Iterable[list[EntryID]]) -> Iterator[bytes]:
    yield encode_length(count)
    for ids in batches:
        yield b"".join([i.to_bytes(16, "big") for i in ids])


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
