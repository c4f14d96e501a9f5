"""Deletions that look at what groups refer to: KEEPREF, DELREF and ACKED."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.entries.entry_ids import EntryIDs
from storage.groups.group import Group
from storage.groups.references import References, Traces
from storage.stream import Stream


def stream_of(count: int, node_entries: int = 100) -> Stream:
    """A stream with the entries 1 to `count`."""
    stream = Stream()
    for entry_id in range(1, count + 1):
        stream.append(entry_id, [b"f", b"v"], node_entries, 0)
    return stream


def read(stream: Stream, name: bytes, last_id: int, acknowledged: list[int]) -> Group:
    """A group that was given all entries up to `last_id` and has acknowledged some."""
    group = stream.groups[name] = Group(name, 0, 0)
    group.deliver(group.create_consumer(b"alice", 0), EntryIDs.of(range(1, last_id + 1)), 100)
    group.last_delivered_id = last_id
    group.acknowledge_all(EntryIDs.of(acknowledged))
    return group


def is_referenced(stream: Stream, entry_id: int) -> bool:
    return not stream.unreferenced([entry_id])


def ids(stream: Stream) -> list[int]:
    return list(stream.ids(0, 2**128 - 1))


def node_sizes(stream: Stream) -> list[int]:
    return [node.live for node in stream.iter_nodes()]


def test_without_groups_nothing_is_referenced() -> None:
    stream = stream_of(3)
    assert not is_referenced(stream, 2)
    assert not is_referenced(stream, 99)


def test_what_one_group_was_not_given_is_referenced() -> None:
    stream = stream_of(5)
    read(stream, b"fast", 5, [1, 2, 3, 4, 5])
    read(stream, b"slow", 2, [1, 2])
    assert [is_referenced(stream, entry_id) for entry_id in (1, 2, 3, 5)] == [
        *(False, False),
        *(True, True),
    ]


def test_what_does_not_exist_is_referenced_beyond_the_last_delivery() -> None:
    stream = stream_of(5)
    read(stream, b"readers", 5, [1, 2, 3, 4, 5])
    assert is_referenced(stream, 6)


def test_what_one_group_has_not_acknowledged_is_referenced() -> None:
    stream = stream_of(3)
    read(stream, b"one", 3, [1, 2, 3])
    read(stream, b"two", 3, [1, 3])
    assert [is_referenced(stream, entry_id) for entry_id in (1, 2, 3)] == [False, True, False]


def test_an_entry_that_nobody_owns_is_referenced() -> None:
    stream = stream_of(3)
    group = read(stream, b"readers", 3, [1, 3])
    group.release(group.pending[2], 1)
    assert is_referenced(stream, 2)
    assert stream.drop_references([2]) == 1
    assert not is_referenced(stream, 2)
    assert group.nacked_count == 0


def test_a_destroyed_group_refers_to_nothing() -> None:
    """Redis 8.2 kept the smallest last ID of a group that was gone."""
    stream = stream_of(3)
    read(stream, b"fast", 3, [1, 2, 3])
    read(stream, b"slow", 1, [])
    assert is_referenced(stream, 1)
    assert is_referenced(stream, 3)
    stream.groups.pop(b"slow").disband()
    assert not is_referenced(stream, 1)
    assert not is_referenced(stream, 3)


def test_a_group_that_was_set_back_refers_to_what_it_will_be_given_again() -> None:
    stream = stream_of(3)
    group = read(stream, b"readers", 3, [1, 2, 3])
    group.last_delivered_id = 1
    assert [is_referenced(stream, entry_id) for entry_id in (1, 2, 3)] == [False, True, True]


def test_a_copy_refers_to_the_same_entries() -> None:
    """Redis 8.2 crashed where its table of references had not been built."""
    stream = stream_of(3)
    read(stream, b"readers", 3, [1, 3])
    twin = stream.copy()
    assert [is_referenced(twin, entry_id) for entry_id in (1, 2, 3)] == [False, True, False]
    assert twin.trim_to_length(0, references=References.ACKED) == 2
    assert ids(twin) == [2]
    assert ids(stream) == [1, 2, 3]


def test_references_are_dropped_in_every_group_and_for_every_consumer() -> None:
    stream = stream_of(3)
    one = read(stream, b"one", 3, [])
    two = read(stream, b"two", 3, [1])
    assert stream.drop_references([2]) == 2
    assert stream.drop_references([2]) == 0
    assert stream.drop_references([1]) == 1
    assert list(one.pending) == list(one.consumers[b"alice"].pending) == [3]
    assert list(two.pending) == [3]


def test_hundreds_of_references_are_dropped() -> None:
    """Redis 8.2 had room for a fixed number of IDs."""
    stream = stream_of(500)
    group = read(stream, b"readers", 500, [])
    assert stream.drop_references(list(range(1, 501))) == 500
    assert not group.pending
    assert list(group.claimable(10_000, 0)) == []


# -- trimming ----------------------------------------------------------------------------------


def test_trimming_keeps_references_unless_told_otherwise() -> None:
    stream = stream_of(4)
    group = read(stream, b"readers", 4, [])
    assert stream.trim_to_length(1) == 3
    assert list(group.pending) == [1, 2, 3, 4]


def test_trimming_drops_the_references_to_what_it_removes() -> None:
    stream = stream_of(4)
    group = read(stream, b"readers", 4, [1])
    assert stream.trim_to_length(1, references=References.DELETE) == 3
    assert (ids(stream), list(group.pending)) == ([4], [4])
    assert stream.trim_before(5, references=References.DELETE) == 1
    assert (stream.node_count, list(group.pending)) == (0, [])


def test_trimming_passes_over_what_is_referenced_and_goes_on() -> None:
    stream = stream_of(10, node_entries=3)
    read(stream, b"readers", 8, [1, 3, 4, 5, 6, 8])
    assert stream.trim_to_length(6, references=References.ACKED) == 4
    assert ids(stream) == [2, 6, 7, 8, 9, 10]
    assert stream.trim_to_length(0, references=References.ACKED) == 2
    assert ids(stream) == [2, 7, 9, 10]


def test_trimming_by_id_passes_over_what_is_referenced() -> None:
    stream = stream_of(10, node_entries=3)
    read(stream, b"readers", 10, [1, 3, 4, 5, 6, 8])
    assert stream.trim_before(6, references=References.ACKED) == 4
    assert ids(stream) == [2, 6, 7, 8, 9, 10]


def test_trimming_never_changes_the_greatest_deleted_id() -> None:
    for references in References:
        stream = stream_of(4)
        stream.trim_to_length(1, references=references)
        assert (stream.length, stream.max_deleted_id) == (1, 0)


def test_acknowledged_entries_go_in_an_approximate_trim_too() -> None:
    """Redis 8.2 removed nothing with `~` and one of these options."""
    for references in (References.DELETE, References.ACKED):
        stream = stream_of(10, node_entries=2)
        read(stream, b"readers", 10, list(range(1, 11)))
        removed = stream.trim_to_length(4, approximate=True, limit=100, references=references)
        assert (removed, ids(stream)) == (6, [7, 8, 9, 10])


def test_an_approximate_trim_that_looks_at_references_cuts_nodes_apart() -> None:
    for references in (References.DELETE, References.ACKED):
        stream = stream_of(10)
        assert stream.trim_to_length(7, approximate=True, references=references) == 3
        assert stream.trim_before(6, approximate=True, references=references) == 2
        assert ids(stream) == [6, 7, 8, 9, 10]


def test_a_limit_below_the_size_of_a_node_trims_nothing() -> None:
    for references in References:
        stream = stream_of(10, node_entries=4)
        assert stream.trim_to_length(0, approximate=True, limit=3, references=references) == 0
        assert stream.trim_to_length(0, approximate=True, limit=7, references=references) == 4


def test_without_groups_every_entry_counts_as_acknowledged() -> None:
    stream = stream_of(4)
    assert stream.trim_before(4, approximate=True, limit=4, references=References.ACKED) == 3
    assert ids(stream) == [4]


def test_nodes_are_dropped_when_their_last_entry_goes() -> None:
    for references in (References.DELETE, References.ACKED):
        stream = stream_of(9, node_entries=3)
        stream.trim_to_length(4, references=references)
        assert node_sizes(stream) == [1, 3]
        stream.append(10, [b"f", b"v"], 3, 0)
        assert node_sizes(stream) == [1, 3, 1]
        assert stream.trim_to_length(0, references=references) == 5
        assert node_sizes(stream) == []
        stream.append(11, [b"f", b"v"], 3, 0)
        assert ids(stream) == [11]


@pytest.mark.parametrize("references", References)
def test_a_node_goes_with_its_last_entry_even_if_it_ends_beyond_the_trim(
    references: References,
) -> None:
    """Redis before 8.10 keeps it, and a newer one does not load it (redis#15808)."""
    stream = stream_of(3)
    stream.delete(3)
    assert stream.trim_before(3, references=references) == 2
    assert (stream.length, node_sizes(stream)) == (0, [])
    stream.append(4, [b"f", b"v"], 3, 0)
    assert (node_sizes(stream), stream.first_id, stream.last_live_id) == ([1], 4, 4)


def deleted_in_the_middle() -> tuple[Stream, Group]:
    """Entries 1 to 9 in nodes of three, all delivered, of which 2, 4, 5, 6 and 8 are deleted."""
    stream = stream_of(9, node_entries=3)
    group = read(stream, b"readers", 9, [])
    stream.delete_all([2, 4, 5, 6, 8])
    return stream, group


@pytest.mark.parametrize(
    ("trim", "removed", "kept"),
    [
        (lambda s, how: s.trim_before(3, references=how), 1, [3, 4, 5, 6, 7, 8, 9]),
        (lambda s, how: s.trim_before(8, references=how), 3, [8, 9]),
        (lambda s, how: s.trim_before(9, references=how), 3, [9]),
        (lambda s, how: s.trim_to_length(3, references=how), 1, [2, 3, 4, 5, 6, 7, 8, 9]),
        (lambda s, how: s.trim_to_length(2, references=how), 2, [4, 5, 6, 7, 8, 9]),
        (lambda s, how: s.trim_to_length(1, references=how), 3, [8, 9]),
        (lambda s, how: s.trim_to_length(0, references=how), 4, []),
        (
            lambda s, how: s.trim_before(9, approximate=True, limit=2, references=how),
            2,
            [7, 8, 9],
        ),
    ],
)
def test_references_to_entries_that_were_deleted_before_go_with_a_trim(
    trim: Callable[[Stream, References], int], removed: int, kept: list[int]
) -> None:
    stream, group = deleted_in_the_middle()
    assert trim(stream, References.DELETE) == removed
    assert list(group.pending) == list(group.consumers[b"alice"].pending) == kept


def test_a_trim_that_removes_no_entry_drops_references_as_well() -> None:
    stream = stream_of(3)
    group = read(stream, b"readers", 3, [])
    stream.delete(1)
    traces = Traces()
    assert stream.trim_before(2, references=References.DELETE, traces=traces) == 0
    assert (traces.removed, traces.dropped, list(group.pending)) == ([], {b"readers": [1]}, [2, 3])


def test_references_before_the_first_node_stay() -> None:
    """A trim that took a node whole has kept them, and nothing of the entries is left."""
    stream = stream_of(6, node_entries=3)
    group = read(stream, b"readers", 6, [])
    stream.trim_to_length(3)
    stream.trim_to_length(2, references=References.DELETE)
    assert list(group.pending) == [1, 2, 3, 5, 6]


@pytest.mark.interpreted
def test_nothing_is_looked_at_beyond_the_last_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of(1000, node_entries=10)
    read(stream, b"readers", 15, list(range(1, 16)))
    looked_at: list[int] = []
    unreferenced = Stream.unreferenced

    def counting(self: Stream, ids: list[int]) -> list[int]:
        looked_at.extend(ids)
        return unreferenced(self, ids)

    monkeypatch.setattr(Stream, "unreferenced", counting)
    assert stream.trim_to_length(10, references=References.ACKED) == 15
    assert 15 <= len(looked_at) <= 20
