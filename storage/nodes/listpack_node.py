"""A node loaded from a snapshot, kept as Redis's listpack until it is read (lazy loading).

Loading a snapshot takes its nodes over unchanged: a node that is never read is never unpacked, and
is written to the next snapshot as it is. A packed node knows only its key and its number of
entries, which are in the first bytes of the listpack. The node list (storage/nodes/node_list.py)
replaces it by an ordinary node at the first access to its entries. An uncompressed listpack takes
more memory than other nodes until background work replaces it (`squeezed`).

The snapshot's checksum was correct, so a packed node is hardly ever damaged. If one is, because it
was written by a faulty program or machine, access to its content raises DamagedNode. Everything
else still works: other nodes, trims that drop it whole, deleting the key.

Leaves out: the parsing of a listpack (storage/snapshot/stream_node.py).
"""

from __future__ import annotations

from copy import copy
from typing import TypeAlias

from protocol.records import record
from storage.entries.entry_id import MAX_ID, EntryID, format_id
from storage.memory import bytes_object_bytes, instance_bytes, int_object_bytes
from storage.nodes.open_node import OpenNode
from storage.redis_format.listpack import COUNTS_BYTES, read_counts
from storage.redis_format.lzf import decompress_prefix
from storage.redis_format.primitives import Allowance, Compressed, CorruptSnapshot
from storage.snapshot.stream_node import decode_node
from storage.zstd import compress, decompress

# Squeezing must save at least an eighth of the listpack.
SQUEEZED_SHARE = 7 / 8


@record
class Squeezed:
    """A listpack that was compressed here; `length` is that of its content."""

    blob: bytes
    length: int

    def data(self) -> bytes:
        """The content."""
        return decompress(self.blob)


PackedString: TypeAlias = "bytes | Compressed | Squeezed"


class DamagedNode(Exception):
    """The listpack of a node from a snapshot is damaged.

    `key` and `end` are the smallest and the greatest ID that its entries can have. `is_first`: the
    damage of this node was not found before.
    """

    def __init__(self, node: ListpackNode, reason: str) -> None:
        self.key, self.end = node.key, node.end
        self.is_first, node.is_found = not node.is_found, True
        ids = f"{format_id(self.key).decode()} to {format_id(self.end).decode()}"
        super().__init__(f"entries {ids} were damaged in the snapshot: {reason}")


class ListpackNode:
    """A node that was not read since it was loaded; see the module."""

    __slots__ = ("deleted", "end", "is_found", "key", "listpack", "live")

    def __init__(self, key: EntryID, end: EntryID, listpack: bytes | Compressed) -> None:
        """`end`: no ID in the node may be greater.

        Raises CorruptSnapshot, with a position in the listpack, if it has no counts.
        """
        self.key = key
        self.end = end
        self.listpack: PackedString = listpack
        self.is_found = False  # whether its damage is known
        self.live, self.deleted = read_counts(_prefix(listpack))

    def unpack(self, allowance: Allowance | None = None) -> OpenNode:
        """The unpacked node.

        Raises DamagedNode if the listpack is damaged, or exceeds the `allowance`.
        """
        try:
            if allowance is not None:
                _check_size(self.listpack, allowance)
            node = decode_node(self.key, listpack_data(self.listpack), allowance=allowance)
        except CorruptSnapshot as error:
            raise DamagedNode(self, error.reason) from None
        if node.highest_id > self.end:
            raise DamagedNode(self, f"one is {format_id(node.highest_id).decode()}")
        return node

    def listpack_bytes(self) -> int:
        """The size of the listpack, uncompressed."""
        listpack = self.listpack
        return len(listpack) if isinstance(listpack, bytes) else listpack.length

    def squeezed(self) -> ListpackNode | None:
        """A node with a compressed listpack, if this one is not compressed yet: about 15 us.

        None if that would save little.
        """
        listpack = self.listpack
        if not isinstance(listpack, bytes):
            return None
        blob = compress(listpack)
        if len(blob) >= len(listpack) * SQUEEZED_SHARE:
            return None
        node = copy(self)
        node.listpack = Squeezed(blob, len(listpack))
        return node

    def copy(self) -> ListpackNode:
        """The node itself, because it is immutable."""
        return self

    def memory_bytes(self) -> int:
        """The memory of the node in bytes."""
        listpack = self.listpack
        if isinstance(listpack, bytes):
            return _OWN_BYTES + bytes_object_bytes(len(listpack))
        return _OWN_BYTES + _COMPRESSED_BYTES + bytes_object_bytes(len(listpack.blob))


_OWN_BYTES = instance_bytes(ListpackNode) + 2 * int_object_bytes(MAX_ID)
_COMPRESSED_BYTES = instance_bytes(Squeezed) + int_object_bytes(1 << 14)


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
    """The first bytes of a listpack, which hold its counts."""
    if isinstance(listpack, bytes):
        return listpack[:COUNTS_BYTES]
    try:
        return decompress_prefix(listpack.blob, COUNTS_BYTES)
    except ValueError as error:
        raise CorruptSnapshot(0, str(error)) from None
