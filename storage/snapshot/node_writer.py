"""The nodes of a stream, written as a snapshot has them: each with its key and its listpack.

Compiled, no object is made of a key, a listpack or what LZF makes of it: a snapshot has a node for
about a hundred entries.
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import EntryID, id_ms, id_seq
from storage.nodes.node import Node
from storage.redis_format.listpack_writer import ListpackWriter
from storage.redis_format.lzf import Compressor
from storage.redis_format.primitives import LZF
from storage.snapshot.node_encoder import NodeEncoder

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.raw_bytes import put_bytes

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

    def put_string(self, key: EntryID, string: bytes) -> None:
        """Add a node whose listpack is encoded as a string already."""
        place: cython.Py_ssize_t = self._begin(key, len(string))
        self.size = put_bytes(self._memory, place, string, 0, len(string))

    def put(self, node: Node) -> None:
        """Add a node with live entries."""
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
        place: cython.Py_ssize_t = self._begin(node.key, size)
        out: cython.p_uchar = self._memory
        if packed < 0:
            place = _put_length(out, place, size)
            self.size = put_bytes(out, place, listpack.out, 0, size)  # type: ignore[arg-type]
            return
        out[place] = _LZF
        place = _put_length(out, place + 1, packed)
        place = _put_length(out, place, size)
        self.size = put_bytes(out, place, self._packed, 0, packed)  # type: ignore[arg-type]

    def _begin(self, key: EntryID, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Write a node's key, and make room for a string of `size` bytes; where it begins."""
        place: cython.Py_ssize_t = self.size
        missing: cython.Py_ssize_t = place + size + _FRAME_BYTES - len(self._memory)
        if missing > 0:
            self._memory.extend(bytes(missing))
        out: cython.p_uchar = self._memory
        place = _put_length(out, place, _KEY_BYTES)
        _put_big_endian(out, place, id_ms(key), 8)
        _put_big_endian(out, place + 8, id_seq(key), 8)
        return place + _KEY_BYTES


@cython.cfunc
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


@cython.cfunc
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
