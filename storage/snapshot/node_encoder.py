"""A node of a stream, written as the listpack that Redis has for it.

What the elements of such a listpack are says storage/snapshot/stream_node.py, which reads them.
Entries are taken as they are kept, in the form of a reply: compiled, the encoder walks over their
bytes, and makes no object of an ID or a word, nor of the listpack. Deleted entries are left out.
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import EntryID, id_ms, id_seq
from storage.entries.entry_reader import EntryReader
from storage.nodes.node import Node
from storage.redis_format.listpack_writer import ELEMENT_FRAME_BYTES, ListpackWriter
from storage.snapshot.stream_node import (
    FRAME_ELEMENTS,
    MASTER_FRAME_ELEMENTS,
    OWN_NAMES_FRAME_ELEMENTS,
    SAME_NAMES,
)

# The most that an entry takes in a listpack beside the bytes that it is kept in.
_ENTRY_FRAME_BYTES: cython.Py_ssize_t = OWN_NAMES_FRAME_ELEMENTS * ELEMENT_FRAME_BYTES

_SAME_NAMES: cython.Py_ssize_t = SAME_NAMES
_FRAME: cython.Py_ssize_t = FRAME_ELEMENTS
_OWN_NAMES_FRAME: cython.Py_ssize_t = OWN_NAMES_FRAME_ELEMENTS


def encode_node(node: Node) -> bytes:
    """The listpack of a node's live entries, of which there must be one."""
    _ENCODER.encode(node)
    return _ENCODER.listpack.content()


@cython.cclass
class NodeEncoder:
    """Encodes one node after the other; `listpack` has the last one."""

    def __init__(self) -> None:
        self.listpack = ListpackWriter()
        self._reader = EntryReader()
        self._names: list[bytes] = []  # of the first entry, as bulk strings

    def encode(self, node: Node) -> None:
        """Write the listpack of a node's live entries, of which there must be one."""
        key: EntryID = node.key
        live: cython.Py_ssize_t = node.live
        payload: bytes = node.payload()
        data: cython.p_const_uchar = payload
        key_ms: cython.ulonglong = id_ms(key)
        key_seq: cython.ulonglong = id_seq(key)
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
            self._put_id(_SAME_NAMES, key_ms, key_seq)
            if words == first_words and self._put_values(data):
                listpack.put_integer(words // 2 + _FRAME - 1)
                continue
            # It has other names, which shows at one of them: again, with names.
            reader.place, listpack.place, listpack.count = fields, place, count
            self._put_id(0, key_ms, key_seq)
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

    @cython.cfunc
    def _put_id(
        self, flag: cython.Py_ssize_t, key_ms: cython.ulonglong, key_seq: cython.ulonglong
    ) -> None:
        """Write what an entry begins with."""
        listpack: ListpackWriter = self.listpack
        listpack.put_integer(flag)
        listpack.put_integer(_difference(self._reader.ms, key_ms))
        listpack.put_integer(_difference(self._reader.seq, key_seq))

    @cython.cfunc
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

    @cython.cfunc
    def _put_words(self, data: cython.p_const_uchar, words: cython.Py_ssize_t) -> None:
        """Read an entry's fields, and write names and values."""
        reader: EntryReader = self._reader
        for _ in range(words):
            reader.read_word()
            self.listpack.put_word(data, reader.start, reader.length)


_MASTER_BYTES: cython.Py_ssize_t = MASTER_FRAME_ELEMENTS * ELEMENT_FRAME_BYTES


@cython.cfunc
def _difference(number: cython.ulonglong, base: cython.ulonglong) -> cython.longlong:
    """The difference modulo 2**64, with a sign."""
    if not cython.compiled:
        return (number - base + 2**63) % 2**64 - 2**63
    difference: cython.longlong = cython.cast(cython.longlong, number - base)
    return difference


_ENCODER = NodeEncoder()
