"""The buffer of an open node: whatever is added and removed, it holds what a list would.

Open nodes: when they are full, and what they forget.
"""

from __future__ import annotations

import tracemalloc
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entries.entry import encode_fields, encode_id
from storage.entries.entry_id import MAX_ID, MAX_SEQ, SEQ_BITS, EntryIDs, make_id
from storage.entries.packed_form import Shape
from storage.nodes import open_node as open_node_module
from storage.nodes.open_node import MAX_KEPT_BYTES, PART_BYTES, EntryBuffer, OpenNode
from tests.storage.nodes.sample_nodes import HALVES, add, encoded, open_node, wire
from tests.support.examples import examples


def add_to(buffer: EntryBuffer, entry_id: int, value: bytes = b"v") -> bytes:
    """Add an entry with this value; how it is encoded."""
    fields = encode_fields([b"f", value])
    buffer.append(entry_id >> SEQ_BITS, entry_id & MAX_SEQ, encode_id(entry_id), fields, 2)
    return encoded(entry_id, [b"f", value])


def ids_in(buffer: EntryBuffer, low: int, high: int) -> EntryIDs:
    ids = EntryIDs()
    buffer.add_ids_to(ids, low, high)
    return ids


def holds(buffer: EntryBuffer, ids: list[int], entries: list[bytes]) -> None:
    count = len(ids)
    assert buffer.count == count
    assert buffer.size_bytes == sum(map(len, entries))
    assert ids_in(buffer, 0, count) == ids
    assert buffer.entries(0, count) == entries
    assert buffer.lengths() == list(map(len, entries))
    assert buffer.part(0, count) == b"".join(entries)
    lengths = set(buffer.lengths())
    assert buffer.common_length == (lengths.pop() if len(lengths) == 1 else 0)


@settings(max_examples=examples(200))
@given(
    steps=st.lists(
        st.tuples(st.just("add_to"), st.integers(1, 2**66), st.integers(0, 300))
        | st.tuples(st.sampled_from(["remove", "drop"]), st.integers(0, 20), st.integers(0, 20))
        | st.tuples(st.just("remove all"), st.integers(0, 2**12), st.just(0))
        | st.tuples(st.sampled_from(["clear", "copy", "lend", "fit"]), st.just(0), st.just(0)),
        max_size=60,
    )
)
def test_it_holds_what_was_added_and_not_removed(steps: list[tuple[str, int, int]]) -> None:
    buffer = EntryBuffer()
    ids: list[int] = []
    entries: list[bytes] = []
    lent: list[tuple[EntryBuffer, list[int], list[bytes]]] = []
    last_id = 0
    for step, first, second in steps:
        if step == "add_to":
            last_id += first
            ids.append(last_id)
            entries.append(add_to(buffer, last_id, b"x" * second))
        elif step == "clear":
            ids, entries = [], []
            buffer.clear()
        elif step == "copy":
            other, buffer = buffer, buffer.copy()
            add_to(other, last_id + 1)  # which does not concern the copy
        elif step == "lend":
            lent.append((buffer.copy(), ids.copy(), entries.copy()))
        elif step == "fit":
            buffer.fit()
        elif step == "remove all":
            places = [place for place in range(min(len(ids), 12)) if first >> place & 1]
            if places:
                buffer.remove_all(places)
                ids = [ids[place] for place in range(len(ids)) if place not in places]
                entries = [entries[n] for n in range(len(entries)) if n not in places]
        else:
            low = 0 if step == "drop" else min(first, len(ids))
            high = min(low + second, len(ids))
            del ids[low:high], entries[low:high]
            buffer.remove(low, high)
        holds(buffer, ids, entries)
        for copy in lent:
            holds(*copy)


@given(
    ids=st.lists(st.builds(make_id, HALVES, HALVES), min_size=1, unique=True).map(sorted),
    dropped=st.integers(0, 5),
    wanted=st.builds(make_id, HALVES, HALVES),
)
def test_places_are_found_by_ids(ids: list[int], dropped: int, wanted: int) -> None:
    buffer = EntryBuffer()
    for entry_id in ids:
        add_to(buffer, entry_id)
    dropped = min(dropped, len(ids))
    buffer.remove(0, dropped)
    for entry_id in (*ids, wanted, MAX_ID, 0):
        assert buffer.place_of(entry_id) == sum(other < entry_id for other in ids[dropped:])


def test_a_copy_takes_no_memory_of_its_own_until_it_changes() -> None:
    buffer = EntryBuffer()
    entries = [add_to(buffer, n, b"x" * 10_000) for n in range(10)]
    copies = [buffer.copy() for _ in range(3)]
    tracemalloc.start()
    try:
        buffer.copy()
        entries.append(add_to(buffer, 10))  # there is room for it
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
    copies[1].remove(3, 5)
    add_to(copies[2], 20)
    buffer.remove_all([0, 7, 9])
    holds(copies[0], list(range(10)), entries[:10])
    assert ids_in(copies[1], 0, 8) == [0, 1, 2, 5, 6, 7, 8, 9]
    assert ids_in(copies[2], 0, 11) == [*range(10), 20]
    assert ids_in(buffer, 0, 8) == [1, 2, 3, 4, 5, 6, 8, 10]


def test_much_is_read_in_parts() -> None:
    buffer = EntryBuffer()
    entries = [add_to(buffer, n, b"x" * (PART_BYTES // 3)) for n in range(10)]
    entries.append(add_to(buffer, 10, b"x" * 3 * PART_BYTES))
    parts = buffer.parts(1, 11)
    assert b"".join(parts) == b"".join(entries[1:])
    assert 4 <= len(parts) < 10
    assert buffer.parts(2, 3) == [entries[2]]
    assert buffer.parts(4, 4) == []
    assert buffer.count_within(0, 1) == 1
    assert buffer.count_within(0, len(entries[0])) == 1
    assert buffer.count_within(0, len(entries[0]) + 1) == 2
    assert buffer.count_within(9, 2**40) == 2
    assert buffer.count_within(0, 0) == 0


def test_a_buffer_of_a_few_entries_that_come_and_go_does_not_grow() -> None:
    buffer = EntryBuffer()
    for n in range(10):
        add_to(buffer, n)
    before = buffer.memory_bytes()
    for n in range(10, 10_000):
        add_to(buffer, n)
        buffer.remove(0, 1)
    assert buffer.memory_bytes() < 4 * before
    assert ids_in(buffer, 0, 10) == list(range(9_990, 10_000))


def test_an_empty_buffer_keeps_its_memory() -> None:
    buffer = EntryBuffer()
    for n in range(100):
        add_to(buffer, n, b"x" * 50)
    before = buffer.memory_bytes()
    buffer.clear()
    assert buffer.memory_bytes() == before
    holds(buffer, [1], [add_to(buffer, 1)])


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


@settings(max_examples=examples(200))
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
def test_an_entry_gets_in_only_below_the_limit(
    key: int, gaps: list[int], names: list[bytes], values: list[bytes]
) -> None:
    node = OpenNode(key, Shape(names[:1]))
    entry_id = key
    for gap, name, value in zip([0, *gaps], names, values, strict=False):
        entry_id = min(entry_id + gap, MAX_ID - 1)
        if not node.live or entry_id > node.last_id:
            add(node, entry_id, [name, value], (0, 0))
    counted = node.copy()
    needed = counted.listpack_bytes() + len(names[-1]) + len(values[-1])
    assert not add(node, MAX_ID, [names[-1], values[-1]], (0, needed))
    assert add(node, MAX_ID, [names[-1], values[-1]], (0, needed + 1))


@pytest.mark.parametrize("length", [4096, 9999, 16378, 65536])
def test_long_values_count_with_their_frames(length: int) -> None:
    key_ms = 1700000000000
    ids = [make_id(key_ms, 100), *(make_id(key_ms + 2**24 + n, 5) for n in range(120))]
    node = open_node(ids, b"x" * length)
    needed = node.copy().listpack_bytes() + 2
    assert not add(node, make_id(key_ms + 2**25, 5), [b"f", b"v"], (0, needed))


@pytest.mark.parametrize(
    ("key", "first_ms"),
    [
        (make_id(1, 100), 2**40),  # far from the key in time
        (make_id(1, 2**40), 2),  # and in sequence
    ],
)
def test_ids_far_from_the_key_take_more_room(key: int, first_ms: int) -> None:
    ids = [key, *(make_id(first_ms + n, 5) for n in range(60))]
    node = open_node(ids, b"v")
    needed = node.copy().listpack_bytes() + 2
    assert not add(node, make_id(2**41, 5), [b"f", b"v"], (0, needed))


def test_other_names_than_those_of_the_node_take_room() -> None:
    node = OpenNode(1, Shape([b"temperature"]))
    for n in range(1, 60):
        add(node, n, [b"temperature" if n == 1 else b"temperaturf", b"v"], (0, 0))
    needed = node.copy().listpack_bytes() + 12
    assert not add(node, 100, [b"temperature", b"v"], (0, needed))


def test_a_node_without_live_entries_still_has_its_size() -> None:
    node = open_node([1, 2, 3])
    node.drop_first(3)
    assert not add(node, 4, [b"f", b"v"], (0, 30))
    assert add(node, 4, [b"f", b"v"], (0, 300))
    node = open_node([1])
    node.drop_first(1)
    node.drop_first(0)
    assert (node.live, node.deleted) == (0, 1)


@pytest.mark.interpreted  # compiled, the limit is a constant in C
def test_no_node_grows_beyond_what_redis_allows_at_all() -> None:
    with mock.patch.object(open_node_module, "_MAX_NODE_BYTES", 1000):
        for max_bytes in (0, 1001, 10**9):
            node = OpenNode(1, Shape([b"f"]))
            ids = range(1, 1000)
            fitting = [n for n in ids if add(node, n, [b"f", b"v"], (0, max_bytes))]
            # The last entry of 11 bytes, 2 of them text, still left the node below the limit.
            assert 1000 - 2 <= node.listpack_bytes() < 1000 - 2 + 11
            assert fitting == list(range(1, len(fitting) + 1))


def test_the_next_node_has_the_buffer_of_the_last_one_unless_that_is_large() -> None:
    for length, is_kept in ((50, True), (MAX_KEPT_BYTES, False)):
        node = open_node([1, 2, 3], b"x" * length)
        buffer = node.hand_over()
        assert (buffer is not None) is is_kept
        other = OpenNode(4, Shape([b"f"]), buffer)
        assert other.live == 0
        add(other, 4, [b"f", b"v"], (0, 0))
        assert wire(other) == wire(open_node([4], b"v"))
