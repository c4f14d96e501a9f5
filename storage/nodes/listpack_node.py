"""A node as it came from a snapshot: Redis's listpack, still compressed by LZF if it was.

To load a snapshot is to take its nodes over as they are: what nobody looks at is never unpacked,
and written to the next snapshot unchanged. A packed node only knows its key and how many entries it
has; that much is read from the first bytes of the listpack. The list of nodes
(storage/nodes/node_list.py) puts an ordinary node in its place as soon as somebody wants to know
more. What came uncompressed takes more memory than other nodes do, until somebody has the time to
`squeeze` it.

The snapshot's checksum was right, so a packed node is hardly ever damaged. Should it be, because
it was written by a faulty program or on a faulty machine, then whoever needs its content gets a
DamagedNode. Everything else works on: other nodes, trims that drop it whole, deleting the key.

Leaves out: how a listpack is read (storage/snapshot/stream_node.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import zstandard

from storage.entries.entry_id import EntryID, format_id
from storage.nodes.open_node import OpenNode
from storage.object_size import allocated_bytes
from storage.redis_format.listpack import COUNTS_BYTES, read_counts
from storage.redis_format.lzf import decompress_prefix
from storage.redis_format.primitives import Allowance, Compressed, CorruptSnapshot
from storage.snapshot.stream_node import decode_node

# To squeeze a listpack has to save an eighth of it at least.
SQUEEZED_SHARE = 7 / 8

_squeezer = zstandard.ZstdCompressor(level=1, write_checksum=False, write_dict_id=False)
_unsqueezer = zstandard.ZstdDecompressor()


@dataclass(slots=True)
class Squeezed:
    """A listpack that was compressed here; `length` is that of its content."""

    blob: bytes
    length: int

    def data(self) -> bytes:
        """The content."""
        return _unsqueezer.decompress(self.blob)


PackedString: TypeAlias = "bytes | Compressed | Squeezed"


class DamagedNode(Exception):
    """A node that was loaded from a snapshot is not what it should be.

    `key` and `end` are the smallest and the greatest ID that its entries can have.
    """

    def __init__(self, key: EntryID, end: EntryID, reason: str) -> None:
        ids = f"{format_id(key).decode()} to {format_id(end).decode()}"
        super().__init__(f"entries {ids} were damaged in the snapshot: {reason}")
        self.key = key
        self.end = end


class ListpackNode:
    """A node that nobody has looked at since it was loaded; see the module."""

    __slots__ = ("deleted", "end", "key", "listpack", "live")

    def __init__(self, key: EntryID, end: EntryID, listpack: bytes | Compressed) -> None:
        """`end`: no ID in the node may be greater.

        Raises CorruptSnapshot, with a position in the listpack, if it has no counts.
        """
        self.key = key
        self.end = end
        self.listpack: PackedString = listpack
        self.live, self.deleted = read_counts(_prefix(listpack))

    def unpack(self, allowance: Allowance | None = None) -> OpenNode:
        """The node with all its entries. Raises DamagedNode if it is not what it should be.

        `allowance`: also if it would become larger than that.
        """
        try:
            if allowance is not None:
                _check_size(self.listpack, allowance)
            node = decode_node(self.key, listpack_data(self.listpack), allowance=allowance)
        except CorruptSnapshot as error:
            raise DamagedNode(self.key, self.end, error.reason) from None
        if node.highest_id > self.end:
            raise DamagedNode(self.key, self.end, f"one is {format_id(node.highest_id).decode()}")
        return node

    def squeeze(self) -> None:
        """Keep the listpack in less memory, if it is not compressed yet: some 15 us."""
        listpack = self.listpack
        if isinstance(listpack, bytes):
            blob = _squeezer.compress(listpack)
            if len(blob) < len(listpack) * SQUEEZED_SHARE:
                # A copy: what the compressor gives out has as much memory as the worst case.
                self.listpack = Squeezed(bytes(memoryview(blob)), len(listpack))

    def copy(self) -> ListpackNode:
        """The node itself, because what is in it never changes."""
        return self

    def memory_bytes(self) -> int:
        """An estimate of the memory that the node takes."""
        parts: list[object] = [self, self.key, self.end, self.listpack]
        if not isinstance(self.listpack, bytes):
            parts.append(self.listpack.blob)
        return sum(map(allocated_bytes, parts))


def _check_size(listpack: PackedString, allowance: Allowance) -> None:
    if not isinstance(listpack, bytes) and listpack.length > allowance.unpacked_bytes:
        raise CorruptSnapshot(0, f"a listpack of {listpack.length} bytes is too long")


def listpack_data(listpack: PackedString) -> bytes:
    """The listpack as it is. Raises CorruptSnapshot if its compressed form is damaged."""
    if isinstance(listpack, bytes):
        return listpack
    try:
        return listpack.data()
    except ValueError as error:
        raise CorruptSnapshot(0, str(error)) from None


def _prefix(listpack: bytes | Compressed) -> bytes:
    """As much of a listpack as is needed for its counts."""
    if isinstance(listpack, bytes):
        return listpack[:COUNTS_BYTES]
    try:
        return decompress_prefix(listpack.blob, COUNTS_BYTES)
    except ValueError as error:
        raise CorruptSnapshot(0, str(error)) from None
