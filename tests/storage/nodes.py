"""Nodes for the tests of both kinds."""

from __future__ import annotations

import sys

from hypothesis import strategies as st

from storage.additions import Additions
from storage.entry import Shape, encode_entry, encode_id
from storage.entry_id import MAX_ID, MAX_SEQ, EntryID, format_id, make_id
from storage.frozen_node import FrozenNode
from storage.node import Node, freeze
from storage.open_node import OpenNode

ALL = sys.maxsize

# Halves of IDs that make columns of every width: all alike, small, and up to 64 bits.
HALVES = st.one_of(st.integers(0, 3), st.integers(250, 260), st.integers(0, MAX_SEQ))
IDS = st.lists(st.builds(make_id, HALVES, HALVES), min_size=1, max_size=30, unique=True).map(sorted)


def add(node: OpenNode, entry_id: int, fields: list[bytes], limits: tuple[int, int]) -> bool:
    id_text = format_id(entry_id)
    id_bulk = b"$%d\r\n%b\r\n" % (len(id_text), id_text)
    shape = node.shape if fields[::2] == node.shape.names else Shape(fields[::2])
    return node.append(entry_id, shape.encode(id_bulk, fields), fields, shape, *limits)


def open_node(ids: list[int], value: bytes = b"value") -> OpenNode:
    """A node with these IDs and one pair in each entry."""
    node = OpenNode(ids[0], Shape([b"f"]))
    for entry_id in ids:
        assert add(node, entry_id, [b"f", value], (0, 0))
    return node


def frozen_node(ids: list[int], value: bytes = b"value") -> FrozenNode:
    node = freeze(open_node(ids, value))
    assert isinstance(node, FrozenNode)
    return node


def wire(node: Node) -> bytes:
    return b"".join(node.select(0, MAX_ID, ALL)[1])


def additions(ids: list[EntryID], all_fields: list[list[bytes]]) -> Additions:
    """Entries to append together, with as many fields each."""
    entries = [
        encode_entry(encode_id(entry_id), fields)
        for entry_id, fields in zip(ids, all_fields, strict=True)
    ]
    return Additions.of_columns(ids, entries, list(zip(*all_fields, strict=True)))
