"""How far groups have come in a stream."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import MAX_ID, EntryIDs, make_id
from storage.groups.group import UNKNOWN, Group
from storage.stream import (
    Stream,
    advance_group,
    estimate_entries_read,
    has_tombstone_after,
    lag,
    set_entries_added,
    set_entries_read,
)


def numbered(count: int) -> Stream:
    """A stream with the IDs 1-0, 2-0, and so on."""
    stream = Stream()
    for n in range(1, count + 1):
        stream.append(make_id(n, 0), [b"n", b"%d" % n], 100, 0)
    return stream


def group_at(n: int, entries_read: int = UNKNOWN) -> Group:
    return Group(b"g", make_id(n, 0), entries_read)


def advance(stream: Stream, group: Group, count: int) -> None:
    ids = stream.ids(group.last_delivered_id + 1, MAX_ID, count)
    advance_group(stream, group, ids)


def test_a_group_counts_what_it_is_given() -> None:
    stream = numbered(10)
    group = group_at(0, entries_read=0)
    advance(stream, group, 4)
    assert (group.entries_read, group.last_delivered_id) == (4, make_id(4, 0))
    assert lag(stream, group) == 6
    advance(stream, group, 100)
    assert (group.entries_read, lag(stream, group)) == (10, 0)
    advance(stream, group, 100)
    assert group.entries_read == 10


def test_a_group_does_not_read_more_than_was_added() -> None:
    stream = numbered(10)
    group = group_at(3)
    set_entries_read(stream, group, 12)
    assert (group.entries_read, lag(stream, group)) == (10, 0)
    advance(stream, group, 2)
    assert (group.entries_read, lag(stream, group)) == (10, 0)
    set_entries_read(stream, group, 8)
    advance(stream, group, 1)
    assert (group.entries_read, lag(stream, group)) == (9, 1)
    advance(stream, group, 4)
    assert (group.entries_read, lag(stream, group)) == (10, 0)


def test_what_groups_have_read_follows_what_is_said_to_have_been_added() -> None:
    stream = numbered(10)
    stream.trim_to_length(2)
    for name, entries_read in ((b"all", 10), (b"some", 1), (b"unknown", UNKNOWN)):
        stream.add_group(Group(name, make_id(10, 0), entries_read))
    set_entries_added(stream, 2)
    assert [group.entries_read for group in stream.groups.values()] == [2, 1, UNKNOWN]


def test_a_group_that_does_not_know_finds_out_at_the_ends() -> None:
    stream = numbered(10)
    group = group_at(4)
    assert lag(stream, group) is None
    advance(stream, group, 3)
    assert group.entries_read == UNKNOWN
    advance(stream, group, 3)
    assert (group.entries_read, lag(stream, group)) == (10, 0)
    group = group_at(0)
    advance(stream, group, 1)
    assert group.entries_read == 1
    advance(stream, group, 5)
    assert (group.entries_read, lag(stream, group)) == (6, 4)


def test_a_tombstone_ahead_makes_the_count_uncertain_until_it_is_passed() -> None:
    stream = numbered(10)
    stream.delete(make_id(6, 0))
    group = group_at(0, entries_read=0)
    assert lag(stream, group) is None
    advance(stream, group, 4)
    assert group.entries_read == UNKNOWN
    advance(stream, group, 100)
    assert (group.entries_read, group.last_delivered_id) == (10, make_id(10, 0))
    assert lag(stream, group) == 0


def test_entries_trimmed_before_the_first_read_count_as_read() -> None:
    stream = numbered(10)
    stream.trim_to_length(4)
    group = group_at(0, entries_read=0)
    assert lag(stream, group) == 4
    advance(stream, group, 1)
    assert (group.entries_read, lag(stream, group)) == (7, 3)


def test_an_empty_stream_lets_nobody_lag() -> None:
    stream = numbered(3)
    group = group_at(0)
    stream.trim_to_length(0)
    assert lag(stream, group) == 0
    assert lag(Stream(), group) == 0


def test_advancing_by_nothing_changes_nothing() -> None:
    stream = numbered(3)
    group = group_at(2, entries_read=2)
    advance_group(stream, group, EntryIDs.of([]))
    assert (group.entries_read, group.last_delivered_id) == (2, make_id(2, 0))


def test_the_estimate_knows_the_ends_of_a_stream_without_holes() -> None:
    stream = numbered(10)
    stream.trim_to_length(6)
    for n, estimate in ((0, 4), (3, 4), (5, 5), (6, UNKNOWN), (10, 10), (11, UNKNOWN)):
        assert estimate_entries_read(stream, make_id(n, 0)) == estimate
    assert estimate_entries_read(Stream(), make_id(5, 0)) == 0


def test_the_estimate_knows_nothing_before_a_deleted_entry() -> None:
    stream = numbered(10)
    stream.delete(make_id(5, 0))
    for n, estimate in ((1, UNKNOWN), (4, UNKNOWN), (5, UNKNOWN), (10, 10)):
        assert estimate_entries_read(stream, make_id(n, 0)) == estimate
    stream.trim_before(make_id(6, 0))
    for n, estimate in ((4, UNKNOWN), (5, 5), (6, 6), (7, UNKNOWN)):
        assert estimate_entries_read(stream, make_id(n, 0)) == estimate


def test_the_estimate_of_an_emptied_stream_is_all_there_ever_was() -> None:
    stream = numbered(10)
    stream.trim_to_length(0)
    assert estimate_entries_read(stream, make_id(3, 0)) == 10
    assert estimate_entries_read(stream, make_id(10, 0)) == 10
    assert estimate_entries_read(stream, make_id(11, 0)) == UNKNOWN


@pytest.mark.parametrize(
    ("deleted", "asked", "answer"),
    [(None, 0, False), (5, 5, True), (5, 4, True), (5, 6, False)],
)
def test_a_tombstone_counts_from_its_own_id_on(
    deleted: int | None, asked: int, answer: bool
) -> None:
    stream = numbered(10)
    if deleted is not None:
        stream.delete(make_id(deleted, 0))
    assert has_tombstone_after(stream, make_id(asked, 0)) is answer
