"""A range of entries that is removed at once: which nodes are opened, and what is left."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import MAX_ID, MIN_ID, make_id
from storage.groups.group import Group, References, Traces
from storage.keyspace.deferred_free import RemovedData
from storage.nodes.frozen_node import FrozenNode
from storage.range_deletion import RangeDeletion
from storage.stream import Stream
from tests.storage.test_stream import numbered, numbers
from tests.support.consistency import contradictions


def delete(
    stream: Stream, first: int, last: int, count: int = 1000, how: References = References.KEEP
) -> RangeDeletion:
    deletion = RangeDeletion(stream, make_id(first, 0), make_id(last, 0), count, how)
    deletion.apply(Traces())
    assert contradictions(stream) == []
    return deletion


def test_nodes_inside_of_the_range_are_dropped_without_a_look_at_their_entries() -> None:
    stream = numbered(100, node_entries=10)
    inner = list(stream.iter_nodes())[3:6]
    discarded: list[RemovedData] = []
    deletion = RangeDeletion(stream, make_id(25, 0), make_id(65, 0), 1000, References.KEEP)
    deletion.apply(Traces(), discarded.append)
    assert numbers(stream) == [*range(1, 25), *range(66, 101)]
    assert stream.node_count == 7
    assert all(isinstance(node, FrozenNode) and not node.was_read for node in inner)
    assert len(discarded) == 1


@pytest.mark.parametrize(("first", "last"), [(1, 100), (1, 10), (91, 100), (85, 100), (41, 50)])
def test_memory_is_counted_as_that_of_a_stream_that_never_had_the_entries(
    first: int, last: int
) -> None:
    stream = numbered(100, node_entries=10)
    delete(stream, first, last)
    assert numbers(stream) == [n for n in range(1, 101) if not first <= n <= last]
    stream.append(make_id(1000, 0), [b"n", b"1000"], 10, 0)
    assert contradictions(stream) == []


def test_a_range_without_entries_removes_nothing() -> None:
    stream = numbered(30, node_entries=10)
    for first, last in ((31, 99), (0, 0), (20, 10)):
        assert delete(stream, first, last).count == 0
    assert delete(Stream(), 0, 9).count == 0
    assert stream.max_deleted_id == MIN_ID


def test_a_group_keeps_only_the_nodes_that_it_refers_to() -> None:
    stream = numbered(100, node_entries=10)
    group = Group(b"g", make_id(60, 0))
    stream.add_group(group)
    group.add(make_id(35, 0), group.create_consumer(b"c", 1), 1, 1)
    assert delete(stream, 0, 100, how=References.ACKED).count == 59
    assert numbers(stream) == [35, *range(61, 101)]


def test_a_copy_keeps_the_entries() -> None:
    stream = numbered(100, node_entries=10)
    twin = stream.copy()
    delete(stream, 15, 95)
    assert numbers(twin) == list(range(1, 101))
    deletion = RangeDeletion(twin, MIN_ID, MAX_ID, 1000, References.KEEP)
    deletion.apply(Traces())
    assert (twin.length, stream.length) == (0, 19)
