"""The nodes of a stream, written as a snapshot has them: each with its key and its listpack.

Compiled, no object is made of a key, a listpack or what LZF makes of it: a snapshot has a node for
about a hundred entries. And no reference to a frozen node is counted: a child that saves a snapshot
would copy a page of memory for it.
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import EntryID, id_ms, id_seq
from storage.nodes.listpack_node import ListpackNode, listpack_data
from storage.nodes.node import Node
from storage.nodes.node_list import AnyNode
from storage.redis_format.listpack_writer import ListpackWriter
from storage.redis_format.lzf import Compressor
from storage.redis_format.primitives import (
    LZF,
    Compressed,
    encode_compressed,
    encode_string,
)
from storage.snapshot.node_encoder import NodeEncoder

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
