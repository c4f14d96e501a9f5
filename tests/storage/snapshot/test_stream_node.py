"""Nodes as Redis's listpacks, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, make_id
from storage.nodes.frozen_node import freeze
from storage.nodes.open_node import OpenNode
from storage.redis_format.listpack import Element, encode_listpack
from storage.redis_format.primitives import CorruptSnapshot
from storage.snapshot.stream_encoder import encode_node
from storage.snapshot.stream_node import decode_node
from storage.stream import Stream
from tests.storage.nodes.sample_nodes import HALVES, IDS, ids_in, open_node, wire

TEXTS = st.one_of(st.binary(max_size=6), st.integers(-(2**63), 2**63).map(lambda n: b"%d" % n))
FIELDS = st.lists(st.sampled_from([b"f", b"g", b"7"]), min_size=1, max_size=3).flatmap(
    lambda names: st.tuples(*(st.tuples(st.just(name), TEXTS) for name in names))
)


def node_of(ids: list[int], fields_of_entries: list[list[bytes]]) -> OpenNode:
    """The only node of a stream with these entries."""
    stream = Stream()
    for entry_id, fields in zip(ids, fields_of_entries, strict=True):
        stream.append(entry_id, fields, 0, 0)
    (node,) = stream._nodes.between(MIN_ID, MAX_ID)
    assert isinstance(node, OpenNode)
    return node


@given(IDS.filter(lambda ids: ids[0] > MIN_ID), st.data())
def test_a_node_comes_back_with_the_size_that_it_has_in_redis(
    ids: list[int], data: st.DataObject
) -> None:
    fields = [[part for pair in data.draw(FIELDS) for part in pair] for _ in ids]
    node = node_of(ids, fields)
    blob = encode_node(node)
    assert len(blob) == node.listpack_bytes()
    assert encode_node(freeze(node.copy())) == blob
    decoded = decode_node(node.key, blob)
    assert (ids_in(decoded), wire(decoded)) == (ids_in(node), wire(node))
    assert decoded.listpack_bytes() == len(blob)
    assert (decoded.deleted, decoded.lost_end) == (0, node.key)


def test_an_entry_that_redis_wrote_is_read() -> None:
    # XADD s 5-3 f v; XADD s 5-4 f 12; XADD s 6-0 g w; XDEL s 5-4, in redis-server 7.0.15.
    blob = bytes.fromhex(
        "380000001600"
        "02010101010181660200010201000100018176020401"
        "0301000101010c0104010001"
        "0101dffd0201018167028177020601ff"
    )
    node = decode_node(make_id(5, 3), blob)
    assert ids_in(node) == [make_id(5, 3), make_id(6, 0)]
    assert wire(node) == (
        b"*2\r\n$3\r\n5-3\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
        b"*2\r\n$3\r\n6-0\r\n*2\r\n$1\r\ng\r\n$1\r\nw\r\n"
    )
    assert (node.deleted, node.lost_end, node.listpack_bytes()) == (1, make_id(5, 4), len(blob))


@given(HALVES, HALVES, HALVES, HALVES)
def test_differences_to_the_key_wrap_around(ms: int, seq: int, next_ms: int, next_seq: int) -> None:
    key, other = make_id(ms, seq), make_id(next_ms, next_seq)
    if MIN_ID < key < other:
        node = node_of([key, other], [[b"f", b"v"], [b"g", b"w"]])
        assert ids_in(decode_node(key, encode_node(node))) == [key, other]


@pytest.mark.parametrize("step", [1, 2, 1 << 64, (1 << 64) + 1, (1 << 64) - 1])
@pytest.mark.parametrize("first", [make_id(1, 0), make_id(7, 5), make_id(7, MAX_SEQ - 50)])
def test_ids_in_equal_steps_come_back(first: int, step: int) -> None:
    ids = [first + number * step for number in range(100)]
    node = node_of(ids, [[b"f", b"%d" % number, b"g", b"same"] for number in range(100)])
    blob = encode_node(node)
    assert len(blob) == node.listpack_bytes()
    decoded = decode_node(node.key, blob)
    assert (ids_in(decoded), wire(decoded)) == (ids_in(node), wire(node))


def test_deleted_entries_are_left_out_and_the_key_stays() -> None:
    node = open_node([10, 20, 30, 40])
    node.delete(10)
    node.delete(30)
    decoded = decode_node(node.key, encode_node(node))
    assert (decoded.key, ids_in(decoded), decoded.deleted) == (10, [20, 40], 0)


def test_a_node_that_lost_everything_is_read() -> None:
    deleted: list[Element] = [0, 1, 1, b"f", 0, 3, 0, 2, b"v", 4]
    node = decode_node(5, encode_listpack(deleted))
    assert (node.live, node.deleted, node.highest_id) == (0, 1, 7)


MASTER: list[Element] = [1, 0, 1, b"f", 0]
ENTRY: list[Element] = [2, 0, 0, b"v", 4]
OWN: list[Element] = [0, 0, 0, 1, b"g", b"w", 6]


@pytest.mark.parametrize(
    "elements",
    [
        [],
        [1],
        [1, 0, 1],
        [1, 0, 1, b"f"],
        [b"1x", 0, 1, b"f", 0, *ENTRY],
        [1, 0, 0, 0, *ENTRY],
        [1, 0, -1, 0, *ENTRY],
        [1, 0, 2**62, b"f", 0, *ENTRY],
        [1, 0, 1, b"f", 1, *ENTRY],
        [2, 0, 1, b"f", 0, *ENTRY],
        [1, 1, 1, b"f", 0, *ENTRY],
        [0, 1, 1, b"f", 0, *ENTRY],
        [-1, 2, 1, b"f", 0, *ENTRY],
        [2**62, 0, 1, b"f", 0, *ENTRY],
        [2, -1, 1, b"f", 0, *ENTRY],
        [*MASTER, *ENTRY, *ENTRY],
        [*MASTER, *ENTRY, 2],
        [*MASTER, *ENTRY[:-1]],
        [*MASTER, *ENTRY[:-1], 5],
        [*MASTER, *ENTRY[:-1], b"x"],
        [*MASTER, 4, *ENTRY[1:]],
        [*MASTER, -1, *ENTRY[1:]],
        [*MASTER, b"x", *ENTRY[1:]],
        [*MASTER, 2, b"x", *ENTRY[2:]],
        [*MASTER, 2, 0, b"x", *ENTRY[3:]],
        [*MASTER, 2, 0, -1, b"v", 4],
        [*MASTER, 2, -1, 0, b"v", 4],
        [*MASTER, 0, 0, 0, 0, 4],
        [*MASTER, 0, 0, 0, -1, b"g", b"w", 6],
        [*MASTER, 0, 0, 0, 2**60, b"g", b"w", 6],
        [*MASTER, 0, 0, 0, b"x", b"g", b"w", 6],
        [*MASTER, 0, 0, 0, 2, b"g", b"w", 6],
        [*MASTER, *OWN[:-1]],
        [*MASTER, *OWN[:-1], 7],
        [2, 0, 1, b"f", 0, *ENTRY, *OWN],
    ],
)
def test_a_node_that_contradicts_itself_is_refused(elements: list[Element]) -> None:
    with pytest.raises(CorruptSnapshot) as refused:
        decode_node(make_id(5, 5), encode_listpack(elements), 77)
    assert refused.value.offset == 77


def test_the_entries_that_the_refused_ones_were_made_of_are_read() -> None:
    for elements in ([*MASTER, *ENTRY], [*MASTER, *OWN], [*MASTER, 0, 1, MAX_SEQ, *OWN[3:]]):
        assert decode_node(make_id(5, 5), encode_listpack(elements)).live == 1


def test_the_id_0_0_and_ids_below_the_key_are_refused() -> None:
    with pytest.raises(CorruptSnapshot):
        decode_node(MIN_ID, encode_listpack([*MASTER, *ENTRY]))
    with pytest.raises(CorruptSnapshot):
        decode_node(MAX_ID, encode_listpack([*MASTER, 2, 0, 1, *ENTRY[3:]]))
