"""Nodes for the tests of both kinds."""

from __future__ import annotations

import sys
from array import array

from hypothesis import strategies as st

from storage.entries.entry import encode_entry, encode_fields, encode_id
from storage.entries.entry_id import (
    MAX_ID,
    MAX_SEQ,
    MIN_ID,
    SEQ_BITS,
    EntryID,
    NodeIDs,
    make_id,
    pack_ids,
)
from storage.entries.packed_form import Shape
from storage.nodes.entry_cache import EntryCache
from storage.nodes.frozen_node import FrozenNode, Node, freeze
from storage.nodes.open_node import OpenNode

ALL = sys.maxsize

# Halves of IDs that make columns of every width: all alike, small, and up to 64 bits.
HALVES = st.one_of(st.integers(0, 3), st.integers(250, 260), st.integers(0, MAX_SEQ))
IDS = st.lists(st.builds(make_id, HALVES, HALVES), min_size=1, max_size=30, unique=True).map(sorted)


def add(node: OpenNode, entry_id: int, fields: list[bytes], limits: tuple[int, int]) -> bool:
    ms, seq = entry_id >> SEQ_BITS, entry_id & MAX_SEQ
    id_bulk, text = encode_id(entry_id), encode_fields(fields)
    return node.append(ms, seq, id_bulk, text, len(fields), *limits)


def encoded(entry_id: EntryID, fields: list[bytes]) -> bytes:
    """An entry as it is kept."""
    return encode_entry(encode_id(entry_id), encode_fields(fields), len(fields))


def open_node(ids: list[int], value: bytes = b"value") -> OpenNode:
    """A node with these IDs and one pair in each entry."""
    shape = Shape([b"f"])
    shape.packing.cache = EntryCache()
    node = OpenNode(ids[0], shape)
    for entry_id in ids:
        assert add(node, entry_id, [b"f", value], (0, 0))
    return node


def frozen_node(ids: list[int], value: bytes = b"value") -> FrozenNode:
    node = freeze(open_node(ids, value))
    assert isinstance(node, FrozenNode)
    return node


def packed_ids(ids: list[int], key: int | None = None) -> NodeIDs:
    """pack_ids() of these; the key is the first one unless it is given."""
    ms = array("Q", [entry_id >> SEQ_BITS for entry_id in ids])
    seqs = array("Q", [entry_id & MAX_SEQ for entry_id in ids])
    return pack_ids(ids[0] if key is None else key, ms, seqs, 0, len(ids))


def ids_in(node: Node) -> list[int]:
    return node.select_ids(MIN_ID, MAX_ID, ALL)


def wire(node: Node) -> bytes:
    return b"".join(node.select(0, MAX_ID, ALL)[1])
