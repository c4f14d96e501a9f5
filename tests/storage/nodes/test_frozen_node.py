"""Frozen nodes have the same content as the open ones, and can be opened again.

When a node is frozen.
"""

from __future__ import annotations

import gc
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.allocator import free_bytes, give_back
from storage.entries.entry_id import MAX_ID, EntryIDs, make_id
from storage.entries.packed_form import Shape
from storage.nodes.entry_cache import EntryCache
from storage.nodes.frozen_node import FREEZE_MAX_BYTES, FrozenNode, freeze
from storage.nodes.open_node import OpenNode
from storage.stream import Stream
from tests.storage.nodes.sample_nodes import (
    ALL,
    HALVES,
    IDS,
    add,
    frozen_node,
    ids_in,
    open_node,
    wire,
)
from tests.support.examples import examples

# One ID in each millisecond, and IDs of one millisecond: such entries are kept in columns.
PROGRESSIONS = st.builds(
    lambda start, step, count: [start + step * n for n in range(count)],
    st.builds(make_id, st.integers(0, 2**40), st.integers(0, 2**40)),
    st.sampled_from([1, make_id(1, 0)]),
    st.integers(1, 40),
)


@settings(max_examples=examples(300))
@given(ids=IDS | PROGRESSIONS, data=st.data())
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
    found_ids, expected_ids = EntryIDs(), EntryIDs()
    chunks = after.read_from(found_ids, start, limit)
    entries = before.read_from(expected_ids, start, limit)
    assert (found_ids, b"".join(chunks)) == (expected_ids, b"".join(entries))
    found, chunks = after.select(start, end, limit)
    expected, entries = before.select(start, end, limit)
    assert (found, b"".join(chunks)) == (expected, b"".join(entries))
    found, chunks = after.select_down(start, end, limit)
    expected, entries = before.select_down(start, end, limit)
    assert (found, b"".join(chunks)) == (expected, b"".join(entries))


@settings(max_examples=examples(200))
@given(
    ids=IDS | PROGRESSIONS,
    value=st.sampled_from([b"%d", b"%06d", b"x%05dx%05d"]),  # each is packed in another form
    data=st.data(),
)
def test_a_node_answers_the_same_however_often_and_in_which_direction_it_is_read(
    ids: list[int], value: bytes, data: st.DataObject
) -> None:
    shape = Shape([b"f"])
    shape.packing.cache = cache = EntryCache()
    before = OpenNode(ids[0], shape)
    for place, entry_id in enumerate(ids):
        numbers = (place * 7919 % 100_000,) * value.count(b"%")
        assert add(before, entry_id, [b"f", value % numbers], (0, 0))
    after = freeze(before.copy())
    assert isinstance(after, FrozenNode)
    bounds = st.sampled_from([0, *ids, MAX_ID])
    for _ in range(data.draw(st.integers(1, 12))):
        start, end, limit = data.draw(bounds), data.draw(bounds), data.draw(st.integers(1, 40))
        what = data.draw(st.sampled_from(["up", "down", "up", "down", "delete", "close"]))
        if what == "delete":
            assert after.delete(start) == before.delete(start)
        elif what == "close":
            cache.clear()
        else:
            read, expected = after.select, before.select
            if what == "down":
                read, expected = after.select_down, before.select_down
            found, chunks = read(start, end, limit)
            number, entries = expected(start, end, limit)
            assert (found, b"".join(chunks)) == (number, b"".join(entries))
        assert after.select_entries(start, end) == before.select_entries(start, end)


def test_who_reads_downwards_finds_the_node_turned_round() -> None:
    ids = [make_id(1700000000000 + n, 0) for n in range(100)]
    node, plain = frozen_node(ids), open_node(ids)
    for select, select_plain in (
        (node.select_down, plain.select_down),
        (node.select, plain.select),
        (node.select_down, plain.select_down),
    ):
        for _ in range(4):
            _, chunks = select(0, MAX_ID, ALL)
        assert chunks == [b"".join(select_plain(0, MAX_ID, ALL)[1])]
        assert node.opened == chunks[0]


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
    node = freeze(plain.copy())
    for entry_id in late:
        plain.delete(entry_id)
        assert node.delete(entry_id)
    if isinstance(node, FrozenNode):
        node = node.reopen()
    assert (ids_in(node), wire(node)) == (ids_in(plain), wire(plain))
    assert (node.deleted, node.highest_id) == (plain.deleted, plain.highest_id)
    assert node.highest_id == ids[-1]
    assert node.listpack_bytes() == plain.listpack_bytes()


def test_packing_again_keeps_the_entries_and_the_number_of_deleted_ones() -> None:
    ids = [make_id(1000 + n, n) for n in range(50)]
    node, plain = frozen_node(ids), open_node(ids)
    for entry_id in ids[:40]:
        node.delete(entry_id)
        plain.delete(entry_id)
    assert node.is_sparse
    anew = freeze(node.reopen())
    assert isinstance(anew, FrozenNode)
    assert wire(anew) == wire(node) == wire(plain)
    assert (anew.live, anew.deleted, anew.highest_id) == (10, 40, ids[-1])
    assert not anew.is_sparse
    assert anew.memory_bytes() < node.memory_bytes()
    assert anew.reopen().listpack_bytes() == plain.listpack_bytes()


def test_a_node_is_sparse_once_half_of_it_is_deleted() -> None:
    ids = [make_id(n, 0) for n in range(1, 51)]
    node = frozen_node(ids)
    node.drop_first(24)
    assert not node.is_sparse
    node.drop_first(1)
    assert node.is_sparse
    node.drop_first(25)
    assert not node.is_sparse  # nothing is left to pack


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
        live = [ids[n] for n in (0, 1, 3, 4, 6, 7)]
        for limit in range(8):
            expected = [node.get(entry_id) or b"" for entry_id in live[:limit]]
            found, chunks = node.select(0, MAX_ID, limit)
            assert (found, b"".join(chunks)) == (len(expected), b"".join(expected))
            assert node.select_ids(0, MAX_ID, limit) == live[:limit]


def test_a_node_that_lost_its_end_before_it_was_frozen_ends_where_it_ended() -> None:
    node = open_node([1, 2, 3])
    node.delete(3)
    for form in (node, freeze(node.copy())):
        assert (form.last_id, form.highest_id) == (2, 3)
        form.delete(2)
        assert (form.last_id, form.highest_id) == (1, 3)


def test_compression_is_used_where_it_pays() -> None:
    ids = [make_id(1700000000000 + n, 0) for n in range(100)]
    assert frozen_node(ids).memory_bytes() < len(wire(open_node(ids))) / 4
    noise = random.Random(1).randbytes(2000)
    single = frozen_node(ids[:1], noise)
    assert single.blob == wire(single)


def test_copies_do_not_share_what_changes() -> None:
    ids = [make_id(7, n) for n in range(5)]
    for node in (open_node(ids), frozen_node(ids)):
        node.delete(ids[0])
        twin = node.copy()
        twin.delete(ids[1])
        node.delete(ids[2])
        assert node.select_ids(0, MAX_ID, ALL) == [ids[1], ids[3], ids[4]]
        assert twin.select_ids(0, MAX_ID, ALL) == ids[2:]


def filled(kind: str, count: int) -> Stream:
    """A stream of entries that are packed in forms of their own."""
    chance = random.Random(count)
    stream = Stream()
    for number in range(count):
        value = b"%012d" % chance.randrange(10**12)
        if kind == "words":
            value = chance.randbytes(chance.randrange(20, 80)).hex().encode()
        stream.append(make_id(1700000000000 + number, 0), [b"field", value], 100, 4096)
    gc.collect()
    return stream


def gaps_and_told(kind: str, count: int) -> tuple[int, int]:
    """What became free in the heap while a stream was filled, and what the stream takes."""
    give_back()
    before = free_bytes() or 0
    stream = filled(kind, count)
    return (free_bytes() or 0) - before, stream.memory_bytes()


@pytest.mark.skipif(free_bytes() is None, reason="asks the C library what is free")
@pytest.mark.parametrize(("kind", "count"), [("numbers", 400_000), ("words", 100_000)])
def test_there_are_hardly_any_gaps_between_nodes(kind: str, count: int) -> None:
    # In a process of its own, whose heap has no gaps from what was there before.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        gaps, told = pool.submit(gaps_and_told, kind, count).result()
    assert gaps < told / 15  # of the buffers that zstd cuts to their size, too


@given(ids=IDS, data=st.data())
def test_a_batch_of_deletions_has_the_result_of_single_ones(
    ids: list[int], data: st.DataObject
) -> None:
    first, then = (data.draw(st.sets(st.sampled_from(ids))) for _ in range(2))
    together = sorted(then - first)
    for make in (open_node, frozen_node):
        node, plain = make(ids), make(ids)
        for entry_id in first:
            assert node.delete(entry_id)
            assert plain.delete(entry_id)
        if together:
            node.delete_all(together)
        for entry_id in together:
            assert plain.delete(entry_id)
        assert (wire(node), node.live, node.deleted) == (wire(plain), plain.live, plain.deleted)
        assert node.highest_id == plain.highest_id


def test_a_node_with_entries_is_frozen() -> None:
    assert isinstance(freeze(open_node([1, 2, 3])), FrozenNode)


def test_a_very_large_node_is_not_frozen() -> None:
    value = b"x" * (FREEZE_MAX_BYTES // 2)
    node = open_node([1, 2, 3], value)
    assert freeze(node) is node
    assert node.listpack_bytes() > 2 * len(value)


def test_a_node_without_entries_has_nothing_to_freeze() -> None:
    node = open_node([1, 2, 3])
    node.drop_first(3)
    assert freeze(node) is node
