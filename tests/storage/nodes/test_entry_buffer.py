"""The buffer of an open node: whatever is added and removed, it holds what a list would."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entries.entry import encode_fields, encode_id
from storage.entries.entry_id import MAX_ID, MAX_SEQ, SEQ_BITS, EntryIDs, make_id
from storage.nodes.entry_buffer import PART_BYTES, EntryBuffer
from tests.storage.nodes.sample_nodes import HALVES, encoded
from tests.support.examples import examples


def add(buffer: EntryBuffer, entry_id: int, value: bytes = b"v") -> bytes:
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
        st.tuples(st.just("add"), st.integers(1, 2**66), st.integers(0, 300))
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
        if step == "add":
            last_id += first
            ids.append(last_id)
            entries.append(add(buffer, last_id, b"x" * second))
        elif step == "clear":
            ids, entries = [], []
            buffer.clear()
        elif step == "copy":
            other, buffer = buffer, buffer.copy()
            add(other, last_id + 1)  # which does not concern the copy
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
        add(buffer, entry_id)
    dropped = min(dropped, len(ids))
    buffer.remove(0, dropped)
    for entry_id in (*ids, wanted, MAX_ID, 0):
        assert buffer.place_of(entry_id) == sum(other < entry_id for other in ids[dropped:])


def test_a_copy_takes_no_memory_of_its_own_until_it_changes() -> None:
    buffer = EntryBuffer()
    entries = [add(buffer, n, b"x" * 10_000) for n in range(10)]
    copies = [buffer.copy() for _ in range(3)]
    tracemalloc.start()
    try:
        buffer.copy()
        entries.append(add(buffer, 10))  # there is room for it
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
    copies[1].remove(3, 5)
    add(copies[2], 20)
    buffer.remove_all([0, 7, 9])
    holds(copies[0], list(range(10)), entries[:10])
    assert ids_in(copies[1], 0, 8) == [0, 1, 2, 5, 6, 7, 8, 9]
    assert ids_in(copies[2], 0, 11) == [*range(10), 20]
    assert ids_in(buffer, 0, 8) == [1, 2, 3, 4, 5, 6, 8, 10]


def test_much_is_read_in_parts() -> None:
    buffer = EntryBuffer()
    entries = [add(buffer, n, b"x" * (PART_BYTES // 3)) for n in range(10)]
    entries.append(add(buffer, 10, b"x" * 3 * PART_BYTES))
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
        add(buffer, n)
    before = buffer.memory_bytes()
    for n in range(10, 10_000):
        add(buffer, n)
        buffer.remove(0, 1)
    assert buffer.memory_bytes() < 4 * before
    assert ids_in(buffer, 0, 10) == list(range(9_990, 10_000))


def test_an_empty_buffer_keeps_its_memory() -> None:
    buffer = EntryBuffer()
    for n in range(100):
        add(buffer, n, b"x" * 50)
    before = buffer.memory_bytes()
    buffer.clear()
    assert buffer.memory_bytes() == before
    holds(buffer, [1], [add(buffer, 1)])
