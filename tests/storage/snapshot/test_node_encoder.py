"""Nodes, written as Redis's listpacks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry import decode_fields
from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, SEQ_BITS
from storage.nodes.node import Node, freeze
from storage.redis_format.listpack import Element, encode_listpack
from storage.snapshot.node_encoder import encode_node
from tests.storage.nodes.sample_nodes import IDS
from tests.storage.snapshot.test_stream_node import TEXTS, node_of

NAMES = st.lists(st.sampled_from([b"f", b"ff", b"7", b"x" * 100]), min_size=1, max_size=3)
ENTRIES = st.lists(
    NAMES.flatmap(lambda names: st.tuples(*(st.tuples(st.just(name), TEXTS) for name in names))),
    min_size=1,
    max_size=8,
)


def listpack_of(node: Node) -> bytes:
    """The listpack of a node, made of its elements one by one."""
    entries = node.select_entries(MIN_ID, MAX_ID)
    names = decode_fields(entries[0])[::2]
    elements: list[Element] = [len(entries), 0, len(names), *names, 0]
    for entry_id, entry in zip(node.select_ids(MIN_ID, MAX_ID, node.live), entries, strict=True):
        fields = decode_fields(entry)
        ms = (entry_id >> SEQ_BITS) - (node.key >> SEQ_BITS)
        seq = (entry_id & MAX_SEQ) - (node.key & MAX_SEQ)
        if fields[::2] == names:
            elements += [2, ms, seq, *fields[1::2], len(names) + 3]
        else:
            elements += [0, ms, seq, len(fields) // 2, *fields, len(fields) + 4]
    return encode_listpack(elements)


@given(ENTRIES, IDS.filter(lambda ids: ids[0] > MIN_ID), st.data())
def test_a_node_is_written_element_by_element(
    entries: list[tuple[tuple[bytes, bytes], ...]], ids: list[int], data: st.DataObject
) -> None:
    fields = [
        [word for pair in entries[i % len(entries)] for word in pair] for i in range(len(ids))
    ]
    node = node_of(ids, fields)
    assert encode_node(node) == listpack_of(node)
    frozen = freeze(node)
    assert encode_node(frozen) == listpack_of(frozen)
    if len(ids) > 1:
        frozen.delete(data.draw(st.sampled_from(ids)))
        assert encode_node(frozen) == listpack_of(frozen)


def test_more_elements_than_a_listpack_can_count_are_written() -> None:
    node = node_of([1], [[b"%d" % number for number in range(70_000)]])
    assert encode_node(node) == listpack_of(node)
