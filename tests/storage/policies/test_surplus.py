"""What of a stream's head may go."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryIDs, make_id
from storage.groups.group import Consumer, Group
from storage.policies.content_bytes import ContentBytes
from storage.policies.retention import Retention
from storage.policies.surplus import (
    FIRST_TIME_MS,
    MOST_NODES,
    Surplus,
    age_bound,
    archive_floor,
    group_floor,
    has_times,
)
from storage.stream import Stream


def made(count: int, per_node: int = 10) -> Stream:
    """Entries 1-0, 2-0 ... of two bytes."""
    stream = Stream()
    for number in range(1, count + 1):
        stream.append(make_id(number, 0), [b"f", b"v"], per_node, 0)
    return stream


def surplus(stream: Stream, age: int = 0, **limits: int) -> Surplus:
    retention = Retention()
    for name, value in limits.items():
        setattr(retention, name, value)
    content = ContentBytes()
    assert content.count(stream, 0, lambda: False)
    return Surplus(stream, retention, content, make_id(age, 0))


@pytest.mark.parametrize("limits", [{"max_length": 65}, {"max_bytes": 130}, {"age": 36}])
def test_whole_nodes_come_first(limits: dict[str, int]) -> None:
    found = surplus(made(100), **limits)
    assert found.exists()
    assert found.bound(exact=False) == make_id(31, 0)
    assert found.bound(exact=True) == make_id(36, 0)


@pytest.mark.parametrize("limits", [{"max_length": 100}, {"max_bytes": 200}, {"age": 1}])
def test_what_is_within_the_limits_stays(limits: dict[str, int]) -> None:
    found = surplus(made(100), **limits)
    assert not found.exists()


def test_bytes_are_cut_where_they_fit() -> None:
    assert surplus(made(5), max_bytes=7).bound(exact=True) == make_id(3, 0)
    assert surplus(made(5), max_bytes=1).bound(exact=True) > make_id(5, 0)
    assert surplus(made(5), hard_bytes=8).hard_bound(exact=True) == make_id(2, 0)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("limits", [{"max_length": 1}, {"max_bytes": 2}, {"age": 999}])
def test_a_step_is_bounded(limits: dict[str, int], exact: bool) -> None:
    found = surplus(made(1000, per_node=2), **limits)
    assert found.bound(exact=exact) == make_id(2 * MOST_NODES + 1, 0)


def test_a_group_needs_what_is_pending_and_what_it_has_not_read() -> None:
    stream = made(10)
    group = Group(b"g", make_id(7, 0))
    stream.add_group(group)
    assert group_floor(stream, group) == make_id(7, 0) + 1
    consumer = group.create_consumer(b"c", 0)
    assert isinstance(consumer, Consumer)
    group.deliver(consumer, EntryIDs.of([make_id(2, 0), make_id(5, 0)]), 0)
    assert group_floor(stream, group) == make_id(2, 0)
    stream.trim_to_length(7)  # 2-0 is pending without an entry
    assert group_floor(stream, group) == make_id(5, 0)
    group.last_delivered_id = MIN_ID
    assert group_floor(stream, group) == MIN_ID + 1


def test_an_archive_needs_its_last_entry() -> None:
    stream = made(10)
    assert archive_floor(stream) > MAX_ID
    stream.add_group(Group(b"__archive:01234567:", make_id(4, 5)))
    assert archive_floor(stream) == make_id(4, 0)
    stream.delete(make_id(4, 0))
    assert archive_floor(stream) == make_id(3, 0)
    stream.trim_before(make_id(9, 0))
    assert archive_floor(stream) > MAX_ID


def test_counters_are_no_times() -> None:
    assert not has_times(made(1))
    assert has_times(Stream())
    stream = Stream()
    stream.append(make_id(FIRST_TIME_MS, 0), [b"f", b"v"], 10, 0)
    assert has_times(stream)


def test_an_entry_is_too_old_when_its_age_is_reached() -> None:
    assert age_bound(1000, 100) == make_id(901, 0)
    assert age_bound(50, 100) == MIN_ID
