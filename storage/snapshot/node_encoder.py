"""A node of a stream, written as the listpack that Redis has for it.

What the elements of such a listpack are says storage/snapshot/stream_node.py, which reads them.
Entries are taken as they are kept, in the form of a reply: compiled, the encoder walks over their
bytes, and makes no object of an ID or a word. Deleted entries are left out.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from protocol import uncompiled as cython  # type: ignore[no-redef]

from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, SEQ_BITS, EntryID
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
    _, entries = node.select(MIN_ID, MAX_ID, node.live)
    return _ENCODER.encode(node.key, node.live, b"".join(entries))


@cython.cclass
class NodeEncoder:
    """Reads entries one after the other; the attributes are those of what was read last."""

    def __init__(self) -> None:
        self._listpack = ListpackWriter()
        self._place = 0  # up to where the entries were read
        self._ms = self._seq = 0  # an entry's ID
        self._start = self._length = 0  # of a word

    def encode(self, key: EntryID, live: cython.Py_ssize_t, payload: bytes) -> bytes:
        """The listpack of the node with this key and these entries, `live` of them."""
        data: cython.p_const_uchar = payload
        end: cython.Py_ssize_t = len(payload)
        key_ms: cython.ulonglong = key >> SEQ_BITS
        key_seq: cython.ulonglong = key & MAX_SEQ
        listpack: ListpackWriter = self._listpack
        self._place = 0
        first_words: cython.Py_ssize_t = self._read_head(data)
        first_fields: cython.Py_ssize_t = self._place
        # The names of the first entry are written twice if the next ones have others.
        listpack.begin(2 * end + live * _ENTRY_FRAME_BYTES + _MASTER_BYTES)
        listpack.put_integer(live)
        listpack.put_integer(0)
        listpack.put_integer(first_words // 2)
        self._put_words(data, first_words, True, False)
        listpack.put_integer(0)
        self._place = 0
        words: cython.Py_ssize_t
        are_alike: cython.bint
        while self._place < end:
            words = self._read_head(data)
            are_alike = words == first_words and self._has_names_of(data, first_fields, words)
            listpack.put_integer(_SAME_NAMES if are_alike else 0)
            listpack.put_integer(_difference(self._ms, key_ms))
            listpack.put_integer(_difference(self._seq, key_seq))
            if are_alike:
                self._put_words(data, words, False, True)
                listpack.put_integer(words // 2 + _FRAME - 1)
            else:
                listpack.put_integer(words // 2)
                self._put_words(data, words, True, True)
                listpack.put_integer(words + _OWN_NAMES_FRAME - 1)
        return listpack.finish()

    @cython.cfunc
    def _read_head(self, data: cython.p_const_uchar) -> cython.Py_ssize_t:
        """Read an entry's ID; how many words follow."""
        self._place += 5  # the header of an array of two, and the `$` of the ID
        self._read_number(data)
        self._place += 2
        self._ms = self._read_number(data)
        self._place += 1
        self._seq = self._read_number(data)
        self._place += 3  # CR LF and the `*` of the fields
        words: cython.Py_ssize_t = self._read_number(data)
        self._place += 2
        return words

    @cython.cfunc
    def _read_number(self, data: cython.p_const_uchar) -> cython.ulonglong:
        """Read digits, and stop at what comes after them."""
        place: cython.Py_ssize_t = self._place
        number: cython.ulonglong = 0
        while data[place] >= 48:
            number = number * 10 + (data[place] - 48)
            place += 1
        self._place = place
        return number

    @cython.cfunc
    def _read_word(self, data: cython.p_const_uchar) -> None:
        self._place += 1
        self._length = self._read_number(data)
        self._start = self._place + 2
        self._place = self._start + self._length + 2

    @cython.cfunc
    def _has_names_of(
        self, data: cython.p_const_uchar, first: cython.Py_ssize_t, words: cython.Py_ssize_t
    ) -> cython.bint:
        """Whether the fields that are next have the names of those at `first`; reads nothing."""
        start: cython.Py_ssize_t = self._place
        place: cython.Py_ssize_t = start
        index: cython.Py_ssize_t
        size: cython.Py_ssize_t
        _pair: cython.Py_ssize_t
        are_alike: cython.bint = True
        for _pair in range(words // 2):
            # A name with its length: other names are other bytes.
            self._place = place
            self._read_word(data)
            size = self._place - place
            for index in range(size):
                if data[first + index] != data[place + index]:
                    are_alike = False
                    break
            if not are_alike:
                break
            self._read_word(data)
            place = self._place
            self._place = first + size
            self._read_word(data)
            first = self._place
        self._place = start
        return are_alike

    @cython.cfunc
    def _put_words(
        self,
        data: cython.p_const_uchar,
        words: cython.Py_ssize_t,
        names: cython.bint,
        values: cython.bint,
    ) -> None:
        """Read an entry's fields, and write the names, the values, or both."""
        index: cython.Py_ssize_t
        for index in range(words):
            self._read_word(data)
            if values if index & 1 else names:
                self._listpack.put_word(data, self._start, self._length)


_MASTER_BYTES: cython.Py_ssize_t = MASTER_FRAME_ELEMENTS * ELEMENT_FRAME_BYTES


@cython.cfunc
def _difference(number: cython.ulonglong, base: cython.ulonglong) -> cython.longlong:
    """The difference modulo 2**64, with a sign."""
    if not cython.compiled:
        return (number - base + 2**63) % 2**64 - 2**63
    difference: cython.longlong = cython.cast(cython.longlong, number - base)
    return difference


_ENCODER = NodeEncoder()
