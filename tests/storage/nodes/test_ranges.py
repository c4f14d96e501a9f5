"""Ranges cut into runs.

A snapshot of a range does not change, whatever happens to the stream.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, make_id
from storage.nodes.listpack_node import DamagedNode, ListpackNode
from storage.nodes.ranges import RangeSnapshot, Run
from storage.stream import Stream
from tests.storage.nodes.test_listpack_node import damage, packed_count, packed_stream

NODE_ENTRIES, NODE_BYTES = 4, 4096


def stream_of(count: int) -> Stream:
    """With the IDs 10-0, 20-0... and four entries in a node."""
    stream = Stream()
    for number in range(1, count + 1):
        stream.append(make_id(10 * number, 0), [b"f", b"v"], NODE_ENTRIES, NODE_BYTES)
    return stream


def runs_of(ids: list[EntryID], every: int) -> list[Run]:
    """What `partition` is to find, from a list of all IDs."""
    parts = [ids[place : place + every] for place in range(0, len(ids), every)]
    return [Run(part[0], part[-1], len(part)) for part in parts]


@given(
    st.integers(0, 40),
    st.sets(st.integers(1, 40)),
    st.integers(0, 420),
    st.integers(0, 420),
    st.integers(1, 20),
    st.integers(0, 50),
)
def test_runs_are_what_a_list_of_the_ids_gives(
    length: int, deleted: set[int], start_ms: int, end_ms: int, every: int, count: int
) -> None:
    stream = stream_of(length)
    for number in deleted:
        stream.delete(make_id(10 * number, 0))
    start, end = make_id(start_ms, 0), make_id(end_ms, 0)
    expected = runs_of(list(stream.ids(start, end, count)), every)
    assert stream.split(start, end, every, count) == expected


def test_nodes_within_a_run_are_not_looked_into() -> None:
    stream = stream_of(40)
    looked_into: list[EntryID] = []

    class Watched:
        """A node that notes who asks for its IDs."""

        def __init__(self, node: object) -> None:
            self._node = node

        def __getattr__(self, name: str) -> object:
            if name == "select_ids":
                looked_into.append(self._node.key)  # type: ignore[attr-defined]
            return getattr(self._node, name)

    from storage.nodes.ranges import partition

    nodes = [Watched(node) for node in stream._nodes]
    runs = partition(nodes, MIN_ID, MAX_ID, 18, 40)  # type: ignore[arg-type]
    assert [run.length for run in runs] == [18, 18, 4]
    # Of ten nodes, those in which a run or the range begins or ends.
    assert [key >> 64 for key in looked_into] == [10, 170, 330, 370]


FEW_ENTRIES = 5
LENGTH = 33


def filled(length: int = LENGTH) -> Stream:
    stream = Stream()
    for number in range(1, length + 1):
        append(stream, number)
    return stream


def append(stream: Stream, entry_id: int) -> None:
    stream.append(entry_id, [b"f", b"value %d" % entry_id], FEW_ENTRIES, 4096)


def read(snapshot: RangeSnapshot) -> tuple[int, bytes]:
    for _ in snapshot.count():
        pass
    return snapshot.length, b"".join(chunk for chunks in snapshot.chunks() for chunk in chunks)


def expected(
    stream: Stream, start: int, end: int, count: int, *, reverse: bool
) -> tuple[int, bytes]:
    if reverse:
        length, chunks = stream.reverse_range(end, start, count)
    else:
        length, chunks = stream.range(start, end, count)
    return length, b"".join(chunks)


RANGES = st.tuples(
    st.integers(0, LENGTH + 2),
    st.integers(0, LENGTH + 2),
    st.integers(-1, LENGTH + 2),
    st.booleans(),
)


@given(RANGES)
def test_a_snapshot_gives_what_the_range_gives(case: tuple[int, int, int, bool]) -> None:
    start, end, count, reverse = case
    stream = filled()
    for entry_id in (1, 7, 8, LENGTH):
        stream.delete(entry_id)
    snapshot = stream.snapshot(start, end, count, reverse=reverse)
    assert read(snapshot) == expected(stream, start, end, count, reverse=reverse)


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["append", "delete", "delete last", "trim", "trim before", "release"]),
        st.integers(1, LENGTH),
    ),
    max_size=30,
)


@given(RANGES, CHANGES, CHANGES, st.booleans())
def test_no_change_of_the_stream_changes_a_snapshot(
    case: tuple[int, int, int, bool],
    changes: list[tuple[str, int]],
    later_changes: list[tuple[str, int]],
    is_counted_before: bool,
) -> None:
    start, end, count, reverse = case
    stream = filled()
    before = expected(stream, start, end, count, reverse=reverse)
    snapshot = stream.snapshot(start, end, count, reverse=reverse)
    if is_counted_before:
        for _ in snapshot.count():
            pass
    for change in changes:
        change_stream(stream, *change)
    assert read(snapshot) == before
    snapshot.release()
    # The stream is none the worse for it.
    model = stream.copy()
    for change in later_changes:
        change_stream(stream, *change)
        change_stream(model, *change)
    everything = (MIN_ID, MAX_ID, -1)
    assert expected(stream, *everything, reverse=False) == expected(
        model, *everything, reverse=False
    )
    assert stream.length == model.length


def change_stream(stream: Stream, change: str, number: int) -> None:
    if change == "append":
        append(stream, stream.last_id + number)
    elif change == "delete":
        stream.delete(number)
    elif change == "delete last":
        stream.delete(stream.last_live_id)
    elif change == "trim":
        stream.trim_to_length(number)
    elif change == "trim before":
        stream.trim_before(number)
    else:
        stream.trim_to_length(0)


@pytest.mark.parametrize(
    "change",
    [
        lambda stream: stream.delete(2),
        lambda stream: stream.trim_to_length(1),
        lambda stream: append(stream, LENGTH + 1),
        lambda stream: list(stream.release().free()),
    ],
    ids=["delete", "trim", "append", "release"],
)
@pytest.mark.parametrize("changes_the_copy", [False, True])
def test_a_copy_shares_no_change_with_its_original(
    change: Callable[[Stream], object], changes_the_copy: bool
) -> None:
    original = filled()
    twin = original.copy()
    one, other = (twin, original) if changes_the_copy else (original, twin)
    before = wire(other)
    change(one)
    assert wire(other) == before
    assert other.length == LENGTH


def wire(stream: Stream) -> bytes:
    return b"".join(stream.range(MIN_ID, MAX_ID)[1])


def test_packed_nodes_are_unpacked_before_anything_is_read() -> None:
    stream = packed_stream()
    before = wire(packed_stream())
    snapshot = stream.snapshot(MIN_ID, MAX_ID)
    steps = snapshot.count()
    next(steps)
    stream.trim_to_length(0)
    for _ in steps:
        pass
    assert b"".join(chunk for chunks in snapshot.chunks() for chunk in chunks) == before


def test_what_was_unpacked_stays_unpacked() -> None:
    stream = packed_stream()
    snapshot = stream.snapshot(MIN_ID, MAX_ID)
    assert packed_count(stream)
    for _ in snapshot.count():
        pass
    assert not packed_count(stream)


def test_a_damaged_node_shows_before_the_first_entry() -> None:
    stream = packed_stream()
    damage(stream, 7)
    snapshot = stream.snapshot(MIN_ID, MAX_ID)
    with pytest.raises(DamagedNode):
        for _ in snapshot.count():
            pass


def test_nodes_are_copied_only_while_somebody_reads_them() -> None:
    stream = filled()
    snapshot = stream.snapshot(MIN_ID, MAX_ID)
    first = next(stream.iter_nodes())
    stream.delete(1)
    copied = next(stream.iter_nodes())
    assert copied is not first
    snapshot.release()
    stream.delete(2)
    assert next(stream.iter_nodes()) is copied


def test_a_snapshot_is_released_once_however_often_it_is_asked_to() -> None:
    stream = filled()
    one, other = stream.snapshot(MIN_ID, MAX_ID), stream.snapshot(MIN_ID, MAX_ID)
    one.release()
    one.release()
    before = next(stream.iter_nodes())
    stream.delete(1)
    assert next(stream.iter_nodes()) is not before
    assert read(other)[0] == LENGTH


def test_a_copy_of_a_copy_outlives_the_one_between() -> None:
    first = filled()
    between = first.copy()
    last = between.copy()
    everything = expected(last, MIN_ID, MAX_ID, -1, reverse=False)
    between.release()
    first.delete(2)
    assert expected(last, MIN_ID, MAX_ID, -1, reverse=False) == everything


def test_a_snapshot_outlives_the_copy_that_it_was_taken_of() -> None:
    first = filled()
    copy = first.copy()
    snapshot = RangeSnapshot(copy._nodes, MIN_ID, MAX_ID, -1, reverse=False)
    everything = expected(copy, MIN_ID, MAX_ID, -1, reverse=False)
    copy.release()
    first.delete(2)
    assert read(snapshot) == everything
    snapshot.release()
    assert not first._nodes._lent


def test_what_is_appended_to_a_packed_node_that_is_the_last_one_now_is_not_read() -> None:
    stream = packed_stream()
    everything = expected(packed_stream(), MIN_ID, MAX_ID, -1, reverse=False)
    snapshot = RangeSnapshot(stream._nodes, MIN_ID, MAX_ID, -1, reverse=False)
    last = stream._nodes.peek_last()
    assert isinstance(last, ListpackNode)
    for entry_id in last.unpack().select_ids(MIN_ID, MAX_ID, last.live):
        stream.delete(entry_id)
    for _ in snapshot.count():
        pass
    stream.append(stream.last_id + 1, [b"f", b"new"], 1000, 1 << 20)
    chunks = b"".join(chunk for chunks in snapshot.chunks() for chunk in chunks)
    assert (snapshot.length, chunks) == everything
