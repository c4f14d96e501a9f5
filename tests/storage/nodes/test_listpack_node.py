"""Nodes from a snapshot stay packed until they are read."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryIDs, make_id
from storage.groups.group import References
from storage.nodes.frozen_node import FrozenNode
from storage.nodes.listpack_node import DamagedNode, ListpackNode
from storage.nodes.open_node import OpenNode
from storage.redis_format.listpack import encode_listpack
from storage.redis_format.primitives import Compressed, CorruptSnapshot
from storage.snapshot.stream_encoder import encode_node
from storage.stream import Stream
from tests.storage.nodes.sample_nodes import frozen_node, open_node, wire
from tests.storage.snapshot.bodies import decoded, encoded
from tests.support.consistency import contradictions

NODE_ENTRIES = 10
LENGTH = 100


def plain_stream() -> Stream:
    """Entries 1-0 to 100-0 in nodes of ten."""
    stream = Stream()
    for ms in range(1, LENGTH + 1):
        stream.append(make_id(ms, 0), [b"f", b"a value that repeats itself"], NODE_ENTRIES, 4096)
    return stream


def packed_stream(*, compress: bool = True) -> Stream:
    return decoded(encoded(plain_stream(), 21, compress=compress), 21, trusted=True)


def packed_count(stream: Stream) -> int:
    return sum(isinstance(node, ListpackNode) for node in stream.iter_nodes())


def damage(stream: Stream, index: int) -> ListpackNode:
    """Make the node at `index` one that says of its content what is not true."""
    node = list(stream.iter_nodes())[index]
    assert isinstance(node, ListpackNode)
    node.listpack = encode_listpack([NODE_ENTRIES, 0, 1, b"f", 0, 7])
    return node


def test_a_packed_node_knows_its_counts_and_unpacks_to_what_it_was() -> None:
    packed = ListpackNode(10, 30, encode_node(frozen_node([10, 20, 30])))
    assert (packed.key, packed.live, packed.deleted) == (10, 3, 0)
    assert wire(packed.unpack()) == wire(open_node([10, 20, 30]))
    assert packed.copy() is packed
    assert packed.memory_bytes() > 100


def test_a_squeezed_node_takes_less_memory_and_is_what_it_was() -> None:
    stream = packed_stream(compress=False)
    body = encoded(stream, 21, compress=False)
    packed = [node for node in stream.iter_nodes() if isinstance(node, ListpackNode)]
    size = sum(node.memory_bytes() for node in packed)
    for node in [*packed, *packed]:
        stream.squeeze(node)
    squeezed = [node for node in stream.iter_nodes() if isinstance(node, ListpackNode)]
    assert sum(node.memory_bytes() for node in squeezed) < 0.8 * size
    assert packed_count(stream) == len(packed)
    assert encoded(stream, 21, compress=False) == body
    assert contradictions(stream) == []
    assert stream.range(MIN_ID, MAX_ID, LENGTH) == plain_stream().range(MIN_ID, MAX_ID, LENGTH)


@pytest.mark.parametrize("compress", [True, False])
def test_what_squeezing_does_not_make_smaller_stays_as_it_is(compress: bool) -> None:
    stream = Stream()
    stream.append(1, [b"f", random.Random(7).randbytes(400) + bytes(600 * compress)], 0, 0)
    (node,) = decoded(encoded(stream, 21, compress=compress), 21, trusted=True).iter_nodes()
    assert isinstance(node, ListpackNode)
    assert node.squeezed() is None


def test_a_listpack_without_counts_makes_no_node() -> None:
    for listpack in (b"", b"x" * 30, Compressed(b"", 0), Compressed(b"\xff\xff\xff", 30)):
        with pytest.raises(CorruptSnapshot):
            ListpackNode(1, 2, listpack)


def test_a_node_with_an_id_beyond_its_end_is_damaged() -> None:
    packed = ListpackNode(10, 29, encode_node(frozen_node([10, 20, 30])))
    with pytest.raises(DamagedNode, match="entries 0-10 to 0-29 were damaged in the snapshot"):
        packed.unpack()


def test_nodes_are_unpacked_when_they_are_looked_at() -> None:
    stream = packed_stream()
    assert packed_count(stream) == 10
    assert stream.range(make_id(11, 0), make_id(12, 0))[0] == 2
    assert packed_count(stream) == 9
    assert stream.range(make_id(20, 0), make_id(21, 0))[0] == 2
    assert packed_count(stream) == 8
    assert stream.range(MIN_ID, MAX_ID, 10)[0] == 10
    assert packed_count(stream) == 7
    assert stream.range(MIN_ID, MAX_ID)[0] == LENGTH
    assert packed_count(stream) == 0
    *full, last = stream.iter_nodes()
    assert all(isinstance(node, FrozenNode) for node in full)
    assert isinstance(last, OpenNode)


@pytest.mark.parametrize("compress", [True, False])
def test_what_does_not_need_the_content_unpacks_nothing(compress: bool) -> None:
    stream = packed_stream(compress=compress)
    twin = stream.copy()
    assert stream.memory_bytes() > 1000
    assert (stream.length, stream.node_count, stream.radix_node_count()) == (
        LENGTH,
        10,
        plain_stream().radix_node_count(),
    )
    assert stream.trim_to_length(80, approximate=True) == 20
    assert stream.trim_before(make_id(31, 0), approximate=True) == 10
    assert stream.trim_to_length(60) == 10
    assert (packed_count(stream), packed_count(twin)) == (6, 10)
    assert stream.trim_to_length(0) == 60
    assert stream.node_count == 0
    assert contradictions(stream) == []
    assert contradictions(twin) == []


CHANGES: list[Callable[[Stream], object]] = [
    lambda stream: stream.append(make_id(500, 0), [b"f", b"v"], NODE_ENTRIES, 4096),
    lambda stream: stream.append(make_id(500, 0), [b"f", b"v"], 100, 4096),
    lambda stream: stream.append(make_id(500, 0), [b"g", b"v"], 0, 100),
    lambda stream: stream.delete(make_id(35, 0)),
    lambda stream: stream.delete(make_id(35, 1)),
    lambda stream: [stream.delete(make_id(ms, 0)) for ms in range(85, 101)],
    lambda stream: [stream.delete(make_id(ms, 0)) for ms in range(31, 41)],
    lambda stream: stream.trim_to_length(55),
    lambda stream: stream.trim_to_length(55, approximate=True, limit=25),
    lambda stream: stream.trim_before(make_id(45, 0)),
    lambda stream: stream.trim_before(make_id(45, 0), approximate=True),
    lambda stream: stream.trim_before(make_id(50, 1)),
    lambda stream: stream.trim_before(MAX_ID),
    lambda stream: stream.trim_to_length(55, references=References.ACKED),
    lambda stream: stream.trim_before(make_id(45, 0), references=References.DELETE),
    lambda stream: stream.reverse_range(make_id(55, 0), make_id(45, 0)),
    lambda stream: stream.read_from(EntryIDs(), make_id(45, 0), 7),
    lambda stream: stream.read_within(EntryIDs(), make_id(45, 0), 30, 500),
    lambda stream: stream.ids(make_id(45, 0), make_id(65, 0)),
    lambda stream: (stream.first_entry(), stream.last_entry(), stream.get(make_id(55, 0))),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_packed_stream_answers_and_changes_as_any_other(
    change: Callable[[Stream], object],
) -> None:
    packed, plain = packed_stream(), plain_stream()
    for _ in range(2):
        answer = change(packed)
        expected = change(plain)
        if isinstance(answer, tuple) and isinstance(answer[1], list):
            answer, expected = flat(answer), flat(expected)
        assert answer == expected
        assert contradictions(packed.copy()) == []
        keys = [(n.key, n.live, n.deleted) for n in packed.iter_nodes()]
        assert keys == [(n.key, n.live, n.deleted) for n in plain.iter_nodes()]
        if change in CHANGES[:3]:
            break  # the same ID is not added twice
    assert packed.range(MIN_ID, MAX_ID)[0] == plain.range(MIN_ID, MAX_ID)[0]


def flat(answer: object) -> list[object]:
    """A range with its chunks joined: nodes of another form give other chunks."""
    assert isinstance(answer, tuple)
    return [
        b"".join(p) if isinstance(p, list) and p and isinstance(p[0], bytes) else p for p in answer
    ]


def test_the_last_node_goes_on_where_redis_would() -> None:
    for limits in ((15, 4096), (0, 700), (0, 400)):
        packed, plain = packed_stream(), plain_stream()
        for ms in range(200, 240):
            for stream in (packed, plain):
                stream.append(make_id(ms, 0), [b"f", b"v" * (ms % 7)], *limits)
        assert [n.key for n in packed.iter_nodes()] == [n.key for n in plain.iter_nodes()]
        assert contradictions(packed) == []


def test_a_damaged_node_is_named_and_the_others_work() -> None:
    stream = packed_stream()
    for index in (5, 4):
        damage(stream, index)
    assert stream.copy().trim_before(make_id(51, 0)) == 50
    stream = packed_stream()
    damage(stream, 4)
    with pytest.raises(DamagedNode, match="entries 41-0 to 50-18446744073709551615 were damaged"):
        stream.range(MIN_ID, MAX_ID)
    for _ in range(2):
        with pytest.raises(DamagedNode):
            stream.delete(make_id(45, 0))
    assert stream.length == LENGTH
    assert stream.range(make_id(51, 0), MAX_ID)[0] == 50
    assert stream.reverse_range(make_id(40, 0), MIN_ID)[0] == 40
    stream.append(make_id(500, 0), [b"f", b"v"], NODE_ENTRIES, 4096)
    assert stream.delete(make_id(500, 0))
    assert encoded(stream, 21) != b""
    assert stream.copy().trim_to_length(50) == 50
    assert stream.trim_before(make_id(51, 0)) == 50
    assert contradictions(stream) == []


def test_a_damaged_first_node_stands_for_its_first_id() -> None:
    stream = packed_stream()
    damage(stream, 0)
    assert stream.first_id == make_id(1, 0)
    with pytest.raises(DamagedNode):
        stream.first_entry()


def test_after_a_damaged_last_node_a_new_one_begins() -> None:
    stream = packed_stream()
    damage(stream, 9)
    stream.append(make_id(500, 0), [b"f", b"v"], 100, 4096)
    assert [node.live for node in stream.iter_nodes()][-2:] == [10, 1]
    assert stream.range(make_id(101, 0), MAX_ID)[0] == 1
