"""A node of a stream, written as the listpack that Redis has for it.

What the elements of such a listpack are says storage/snapshot/stream_node.py, which reads them.
Deleted entries are left out. Compiled, no object is made of an ID, a word or the listpack:

* Values of a frozen node that has a layout or a frame go from its packed form into the listpack.
  Its entries have the same names, and are not restored.
* Entries of other nodes are taken in the form of a reply; the encoder walks over their bytes.

A child that saves a snapshot shares the nodes' memory with the server. So the encoder only reads
them: it counts no reference to a frozen node or its blob, which would copy a page of memory.
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import IDProgression, id_ms, id_seq
from storage.entries.frame import EntryReader, FieldRow, Frame, Numbers
from storage.entries.packed_form import Layout
from storage.nodes.frozen_node import FrozenNode
from storage.nodes.node import Node
from storage.redis_format.listpack_writer import ELEMENT_FRAME_BYTES, ListpackWriter
from storage.snapshot.stream_node import (
    FRAME_ELEMENTS,
    MASTER_FRAME_ELEMENTS,
    OWN_NAMES_FRAME_ELEMENTS,
    SAME_NAMES,
)
from storage.zstd import decompress

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.redis_format.listpack_writer import put_number

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
