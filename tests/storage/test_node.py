"""Nodes: open and frozen ones answer alike, and their size is that of Redis."""

from __future__ import annotations

import random
import sys
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage import node as node_module
from storage.entry import Shape
from storage.entry_id import MAX_ID, MAX_SEQ, format_id, make_id
from storage.node import FREEZE_MAX_BYTES, FrozenNode, Node, OpenNode

ALL = sys.maxsize


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
    node = open_node(ids, value).freeze()
    assert isinstance(node, FrozenNode)
    return node


def wire(node: Node) -> bytes:
    return b"".join(node.select(0, MAX_ID, ALL)[1])


# Halves that make columns of every width: alike, small, and up to 64 bits.
HALVES = st.one_of(st.integers(0, 3), st.integers(250, 260), st.integers(0, MAX_SEQ))
IDS = st.lists(st.builds(make_id, HALVES, HALVES), min_size=1, max_size=30, unique=True).map(sorted)


@settings(max_examples=200, deadline=None)
@given(ids=IDS, data=st.data())
def test_a_frozen_node_answers_as_the_open_one_did(ids: list[int], data: st.DataObject) -> None:
    before = open_node(ids)
    after = frozen_node(ids)
    for entry_id in data.draw(st.lists(st.sampled_from(ids), unique=True)):
        assert before.delete(entry_id)
        assert after.delete(entry_id)
    bounds = st.sampled_from([0, *ids, MAX_ID]) | st.builds(make_id, HALVES, HALVES)
    start, end, limit = data.draw(bounds), data.draw(bounds), data.draw(st.integers(0, 40))

    assert (after.live, after.deleted) == (before.live, before.deleted)
    assert after.highest_id == before.highest_id == ids[-1]
    if before.live:
        assert (after.first_id, after.last_id) == (before.first_id, before.last_id)
    for entry_id in (start, end):
        assert after.get(entry_id) == before.get(entry_id)
        assert after.count_below(entry_id) == before.count_below(entry_id)
        assert after.copy().delete(entry_id) == before.copy().delete(entry_id)
    assert after.select_ids(start, end, limit) == before.select_ids(start, end, limit)
    found, chunks = after.select(start, end, limit)
    expected, entries = before.select(start, end, limit)
    assert (found, b"".join(chunks)) == (expected, b"".join(entries))
    found, chunks = after.select_down(start, end, limit)
    expected, entries = before.select_down(start, end, limit)
    assert (found, b"".join(chunks)) == (expected, b"".join(entries))


@settings(max_examples=100, deadline=None)
@given(ids=IDS, data=st.data())
def test_a_node_that_is_opened_again_has_kept_everything(
    ids: list[int], data: st.DataObject
) -> None:
    middle = data.draw(st.integers(1, len(ids)))
    plain = open_node(ids[:middle])
    early = data.draw(st.lists(st.sampled_from(ids[:middle]), unique=True))
    for entry_id in early:
        plain.delete(entry_id)
    for entry_id in ids[middle:]:
        add(plain, entry_id, [b"f", b"value"], (0, 0))
    late = [entry_id for entry_id in ids if entry_id not in early]
    late = data.draw(st.lists(st.sampled_from(late), unique=True)) if late else []
    node = plain.copy().freeze()
    for entry_id in late:
        plain.delete(entry_id)
        assert node.delete(entry_id)
    if isinstance(node, FrozenNode):
        node = node.reopen()
    assert (node.ids, node.entries) == (plain.ids, plain.entries)
    assert (node.deleted, node.highest_id) == (plain.deleted, plain.highest_id)
    assert node.highest_id == ids[-1]
    assert node.listpack_bytes() == plain.listpack_bytes()


def test_thawing_keeps_what_is_left_and_how_much_was_lost() -> None:
    ids = [make_id(1000 + n, n) for n in range(50)]
    node = frozen_node(ids)
    for entry_id in ids[1:]:
        node.delete(entry_id)
    assert node.is_sparse
    thawed = node.thaw()
    assert thawed.ids == ids[:1]
    assert wire(thawed) == wire(node)
    assert (thawed.live, thawed.deleted) == (1, 49)
    assert thawed.highest_id == ids[-1]
    assert thawed.memory_bytes() < frozen_node(ids).memory_bytes()


def test_a_node_with_a_tenth_of_its_entries_is_not_sparse_yet() -> None:
    ids = [make_id(n, 0) for n in range(1, 51)]
    node = frozen_node(ids)
    node.drop_first(45)
    assert not node.is_sparse
    node.drop_first(1)
    assert node.is_sparse
    node.drop_first(4)
    assert not node.is_sparse  # nothing is left to thaw


def test_a_node_without_live_entries_still_ends_where_it_ended() -> None:
    ids = [make_id(7, n) for n in range(3)]
    for node in (open_node(ids), frozen_node(ids)):
        node.drop_first(3)
        assert node.live == 0
        assert node.highest_id == ids[-1]
        assert wire(node) == b""


def test_dropping_skips_what_is_deleted_already() -> None:
    ids = [make_id(7, n) for n in range(6)]
    for node in (open_node(ids), frozen_node(ids)):
        node.delete(ids[1])
        node.drop_first(2)
        assert node.select_ids(0, MAX_ID, ALL) == ids[3:]
        node.drop_first(0)
        assert node.live == 3


def test_a_limit_counts_across_gaps() -> None:
    ids = [make_id(7, n) for n in range(8)]
    for node in (open_node(ids), frozen_node(ids)):
        node.delete(ids[2])
        node.delete(ids[5])
        found, chunks = node.select(0, MAX_ID, 4)
        expected = [node.get(ids[n]) for n in (0, 1, 3, 4)]
        assert (found, b"".join(chunks)) == (4, b"".join(filter(None, expected)))
        assert node.select(0, MAX_ID, 0)[0] == 0


def test_a_node_that_lost_its_end_before_it_was_frozen_ends_where_it_ended() -> None:
    node = open_node([1, 2, 3])
    node.delete(3)
    for form in (node, node.copy().freeze()):
        assert (form.last_id, form.highest_id) == (2, 3)
        form.delete(2)
        assert (form.last_id, form.highest_id) == (1, 3)


def test_compression_is_used_where_it_pays() -> None:
    ids = [make_id(1700000000000 + n, 0) for n in range(100)]
    assert frozen_node(ids).memory_bytes() < len(wire(open_node(ids))) / 4
    noise = random.Random(1).randbytes(2000)
    single = frozen_node(ids[:1], noise)
    assert single._blob == wire(single)


def test_a_very_large_node_is_not_frozen() -> None:
    value = b"x" * (FREEZE_MAX_BYTES // 2)
    node = open_node([1, 2, 3], value)
    assert node.freeze() is node
    assert node.listpack_bytes() > 2 * len(value)


def test_copies_do_not_share_what_changes() -> None:
    ids = [make_id(7, n) for n in range(5)]
    for node in (open_node(ids), frozen_node(ids)):
        node.delete(ids[0])
        twin = node.copy()
        twin.delete(ids[1])
        node.delete(ids[2])
        assert node.select_ids(0, MAX_ID, ALL) == [ids[1], ids[3], ids[4]]
        assert twin.select_ids(0, MAX_ID, ALL) == ids[2:]


# -- size ------------------------------------------------------------------------------------------


def test_a_node_is_full_when_live_and_deleted_entries_reach_the_limit() -> None:
    node = OpenNode(1, Shape([b"f"]))
    assert all(add(node, n, [b"f", b"v"], (3, 0)) for n in (1, 2, 3))
    assert not add(node, 4, [b"f", b"v"], (3, 0))
    node.delete(2)
    assert not add(node, 4, [b"f", b"v"], (3, 0))
    assert add(node, 4, [b"f", b"v"], (0, 0))


def test_a_node_takes_its_first_entry_however_large_it_is() -> None:
    node = OpenNode(1, Shape([b"f"]))
    assert add(node, 1, [b"f", b"x" * 1000], (1, 10))
    assert not add(node, 2, [b"f", b"x"], (0, 10))


def test_an_entry_must_leave_the_node_below_the_limit_of_bytes() -> None:
    # 18 for the node with its names, and 11 for the entry: see test_listpack_size.
    for spare, fits in ((0, False), (1, True)):
        node = OpenNode(1, Shape([b"f"]))
        add(node, 1, [b"f", b"v"], (0, 4096))
        assert node.listpack_bytes() == 29
        fields = [b"f", b"12345"]  # 6 bytes, as Redis compares them
        assert add(node, 2, fields, (0, 29 + 6 + spare)) is fits


@settings(max_examples=200, deadline=None)
@given(
    key=st.builds(make_id, HALVES, HALVES),
    gaps=st.lists(
        st.integers(1, 300) | st.integers(1, 2**70) | st.integers(1, 2**100), max_size=20
    ),
    names=st.lists(st.sampled_from([b"f", b"temperature", b"12"]), min_size=22, max_size=22),
    values=st.lists(
        st.binary(max_size=5)
        | st.integers(-(2**70), 2**70).map(lambda n: b"%d" % n)
        | st.sampled_from([63, 64, 99, 125, 1000, 4000, 4096, 10000]).map(lambda n: b"x" * n),
        min_size=22,
        max_size=22,
    ),
)
def test_the_bound_never_lets_in_what_the_exact_size_would_not(
    key: int, gaps: list[int], names: list[bytes], values: list[bytes]
) -> None:
    node = OpenNode(key, Shape(names[:1]))
    entry_id = key
    for gap, name, value in zip([0, *gaps], names, values, strict=False):
        entry_id = min(entry_id + gap, MAX_ID - 1)
        if not node.ids or entry_id > node.ids[-1]:
            add(node, entry_id, [name, value], (0, 0))
    counted = node.copy()
    needed = counted.listpack_bytes() + len(names[-1]) + len(values[-1])
    assert not add(node, MAX_ID, [names[-1], values[-1]], (0, needed))
    assert add(node, MAX_ID, [names[-1], values[-1]], (0, needed + 1))


@pytest.mark.parametrize("length", [4096, 9999, 16378, 65536])
def test_long_values_are_bounded_as_well(length: int) -> None:
    node = open_node(list(range(1, 30)), b"x" * length)
    needed = node.copy().listpack_bytes() + 2
    assert not add(node, 50, [b"f", b"v"], (0, needed))


def test_a_node_without_live_entries_still_has_its_size() -> None:
    node = open_node([1, 2, 3])
    node.drop_first(3)
    assert not add(node, 4, [b"f", b"v"], (0, 30))
    assert add(node, 4, [b"f", b"v"], (0, 300))
    node = open_node([1])
    node.drop_first(1)
    node.drop_first(0)
    assert (node.live, node.deleted) == (0, 1)


def test_no_node_grows_beyond_what_redis_allows_at_all() -> None:
    with mock.patch.object(node_module, "MAX_NODE_BYTES", 1000):
        for max_bytes in (0, 1001, 10**9):
            node = OpenNode(1, Shape([b"f"]))
            ids = range(1, 1000)
            fitting = [n for n in ids if add(node, n, [b"f", b"v"], (0, max_bytes))]
            # The last entry of 11 bytes, 2 of them text, still left the node below the limit.
            assert 1000 - 2 <= node.listpack_bytes() < 1000 - 2 + 11
            assert fitting == list(range(1, len(fitting) + 1))


def test_the_fields_of_a_long_node_are_not_kept_twice() -> None:
    node = open_node(list(range(1, 2000)))
    assert len(node._uncounted) < 200
