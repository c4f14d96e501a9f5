"""A node of a stream as the listpack that Redis has for it (docs/architecture/snapshots.md), read.

The elements of the listpack are the master entry, then the entries in order:

    live        how many entries there are
    deleted     how many more are marked as deleted
    names       how many field names the first entry has, and each of them
    0           the end of the master entry

    flags       1: deleted; 2: the names are those of the master entry
    ms, seq     the ID, as two differences to the node's key, modulo 2**64 with a sign
    pairs       how many, unless flag 2 is set
    fields      name, value, name, value...; with flag 2, the values alone
    length      how many elements the entry takes without this one

Guarantees: `decode_node` validates its input. Counts, flags and lengths agree with the elements,
every entry has a field, and IDs ascend from the key on.

Leaves out: whether neighbouring nodes fit together (storage/snapshot/stream_decoder.py), and how
nodes are written (storage/snapshot/stream_encoder.py).
"""

from __future__ import annotations

from itertools import islice
from operator import lt
from typing import cast

from storage.entries.entry import encode_id
from storage.entries.entry_id import MAX_SEQ, MIN_ID, SEQ_BITS, EntryID
from storage.entries.packed_form import Shape
from storage.nodes.open_node import OpenNode
from storage.redis_format.listpack import Element, decode_listpack
from storage.redis_format.listpack_elements import header_bytes
from storage.redis_format.primitives import Allowance, CorruptSnapshot

DELETED = 1
SAME_NAMES = 2

# The elements of the master entry beside the names: live, deleted, names and 0.
MASTER_FRAME_ELEMENTS = 4

# The elements of an entry beside its fields: flags, ms, seq and length; with names of its own,
# the number of pairs as well.
FRAME_ELEMENTS = 4
OWN_NAMES_FRAME_ELEMENTS = 5


def decode_node(
    key: EntryID, listpack: bytes, offset: int = 0, allowance: Allowance | None = None
) -> OpenNode:
    """The node with this key. Raises CorruptSnapshot, with `offset` added to positions."""
    elements = decode_listpack(listpack, offset, allowance)
    try:
        return _decode_elements(key, elements, len(listpack))
    except _Contradiction as error:
        raise CorruptSnapshot(offset, f"a node contradicts itself: {error}") from None


class _Contradiction(Exception):
    """Elements that no node has; the text says in which way."""


def _decode_elements(key: EntryID, elements: list[Element], listpack_bytes: int) -> OpenNode:
    live, deleted, names = _decode_master(elements)
    entries = _Entries(key, names)
    start = len(names) + MASTER_FRAME_ELEMENTS
    if deleted or not entries.take_columns(elements, start):
        entries.take_each(elements, start)
    if (len(entries.ids), entries.deleted) != (live, deleted):
        raise _Contradiction(f"{live} live and {deleted} deleted entries are not what it holds")
    return OpenNode.filled(
        key,
        entries.shape,
        entries.ids,
        entries.encoded,
        deleted,
        entries.lost_end,
        listpack_bytes - header_bytes(live, deleted, names),
    )


def _decode_master(elements: list[Element]) -> tuple[int, int, list[bytes]]:
    """(live, deleted, names) of a node."""
    live, deleted, width = _integers(elements[:3], 3)
    # There are fewer entries and names than elements.
    if live < 0 or deleted < 0 or live + deleted > len(elements):
        raise _Contradiction(f"it cannot have {live} live and {deleted} deleted entries")
    end = 3 + width
    if not 1 <= width <= len(elements) or elements[end : end + 1] != [0]:
        raise _Contradiction(f"its first entry cannot have {width} fields")
    return live, deleted, _strings(elements[3:end])


class _Entries:
    """The entries of a node, as they are taken from its elements."""

    def __init__(self, key: EntryID, names: list[bytes]) -> None:
        self.shape = Shape(names)
        self.ids: list[EntryID] = []
        self.encoded: list[bytes] = []
        self.deleted = 0
        self.lost_end = key  # the greatest ID that was deleted
        self._key_ms, self._key_seq = key >> SEQ_BITS, key & MAX_SEQ
        self._last_id = max(key - 1, MIN_ID)  # all that follow are greater
        self._shapes = {tuple(names): self.shape}

    def take_columns(self, elements: list[Element], start: int) -> bool:
        """Take all entries from `start` on at once, if they are alike; False if they are not.

        That is: none is deleted, and all have the names of the master entry. Nearly all nodes are
        like that, and in columns they take half the time.
        """
        width = len(self.shape.names)
        stride = width + FRAME_ELEMENTS
        count, surplus = divmod(len(elements) - start, stride)
        flags = elements[start::stride]
        lengths = elements[start + stride - 1 :: stride]
        if surplus or flags.count(SAME_NAMES) + lengths.count(stride - 1) != 2 * count:
            return False
        all_ms = _integers(elements[start + 1 :: stride])
        all_seq = _integers(elements[start + 2 :: stride])
        self.ids = list(map(self._id, all_ms, all_seq))
        self._check_order(self.ids)
        columns = [_strings(elements[start + 3 + place :: stride]) for place in range(width)]
        encode = self.shape.encode_values
        rows = zip(*columns, strict=True)
        self.encoded = [encode(encode_id(i), row) for i, row in zip(self.ids, rows, strict=True)]
        return True

    def take_each(self, elements: list[Element], position: int) -> None:
        """Take the entries from `position` on, one by one."""
        while position < len(elements):
            position = self._take_one(elements, position)

    def _take_one(self, elements: list[Element], start: int) -> int:
        """Take the entry at `start`; return the position after it."""
        first = start + 3
        flags, ms, seq = _integers(elements[start:first], 3)
        if not 0 <= flags <= DELETED | SAME_NAMES:
            raise _Contradiction(f"an entry has the flags {flags}")
        if flags & SAME_NAMES:
            end = first + len(self.shape.names)
            shape, values = self.shape, _strings(elements[first:end])
        else:
            (pairs,) = _integers(elements[first : first + 1], 1)
            if not 1 <= pairs <= len(elements) - first:
                raise _Contradiction(f"an entry cannot have {pairs} fields")
            end = first + 1 + 2 * pairs
            fields = _strings(elements[first + 1 : end])
            shape, values = self._shape(fields[::2]), fields[1::2]
        if elements[end : end + 1] != [end - start]:
            raise _Contradiction("an entry is not as long as it says")
        entry_id = self._id(ms, seq)
        self._check_order([entry_id])
        if flags & DELETED:
            self.deleted += 1
            self.lost_end = entry_id
        else:
            self.ids.append(entry_id)
            self.encoded.append(shape.encode_values(encode_id(entry_id), values))
        return end + 1

    def _id(self, ms: int, seq: int) -> EntryID:
        """The ID from its differences to the key, which may wrap around."""
        return (self._key_ms + ms & MAX_SEQ) << SEQ_BITS | self._key_seq + seq & MAX_SEQ

    def _check_order(self, ids: list[EntryID]) -> None:
        """Make sure that these IDs ascend, and from the last one that was there before."""
        if ids and not (self._last_id < ids[0] and all(map(lt, ids, islice(ids, 1, None)))):
            raise _Contradiction("IDs do not ascend from its key on")
        if ids:
            self._last_id = ids[-1]

    def _shape(self, names: list[bytes]) -> Shape:
        key = tuple(names)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(names)
        return shape


def _integers(elements: list[Element], count: int | None = None) -> list[int]:
    """The elements, which must be integers, and `count` of them if that is given."""
    if count not in (None, len(elements)) or not set(map(type, elements)) <= {int}:
        raise _Contradiction("there is no number where one should be")
    return cast("list[int]", elements)


def _strings(elements: list[Element]) -> list[bytes]:
    """The elements as strings, which those that are stored as integers were."""
    return [b"%d" % e if isinstance(e, int) else e for e in elements]
