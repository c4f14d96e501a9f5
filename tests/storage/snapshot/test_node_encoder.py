"""Nodes, written as Redis's listpacks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
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


VALUES = {
    "number": lambda n: [b"f", b"%06d" % (n * 7919)],
    "number without leading zeros": lambda n: [b"f", b"%d" % (100_000 + n * 7919)],
    "hexadecimal number": lambda n: [b"f", b"%08x" % (n * 0x01234567)],
    "columns": lambda n: [b"f", b"a%02d" % n, b"g", b"%d%%" % (10 + n * 7 % 90)],
    "names": lambda n: [b"f%02d" % n, b"v"],
    "length": lambda n: [b"f", b"v" * (n + 1), b"g", b"w" * (40 - n)],
    "frame": lambda n: [b"name", b"%d" % n**5, b"other", b"text " * 9 + b"%d" % (n % 7)],
    "random": lambda n: [b"f", bytes((n * i * 31 + i * i) % 251 for i in range(40))],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=list(VALUES))
@pytest.mark.parametrize("step", [1, 1 << SEQ_BITS, 3])
def test_a_node_of_each_form_is_written_without_its_entries(
    values: Callable[[int], list[bytes]], step: int
) -> None:
    ids = [(1_700_000_000_000 << SEQ_BITS) + 100 + n * step for n in range(40)]
    frozen = freeze(node_of(ids, [values(n) for n in range(40)]))
    assert encode_node(frozen) == listpack_of(frozen)
    for entry_id in (ids[0], ids[7], ids[39]):
        frozen.delete(entry_id)
        assert encode_node(frozen) == listpack_of(frozen)


def test_more_elements_than_a_listpack_can_count_are_written() -> None:
    node = node_of([1], [[b"%d" % number for number in range(70_000)]])
    assert encode_node(node) == listpack_of(node)
