"""Streams: entries, trims, and the counters that XINFO shows."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable

import pytest

from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, EntryID, EntryIDs, format_id, make_id
from storage.groups.group import Group
from storage.idempotence import Idempotence
from storage.stream import Stream


def wire(*entries: tuple[EntryID, list[bytes]]) -> bytes:
    """Entries as clients get them."""
    text = b""
    for entry_id, fields in entries:
        id_text = format_id(entry_id)
        text += b"*2\r\n$%d\r\n%b\r\n*%d\r\n" % (len(id_text), id_text, len(fields))
        text += b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in fields)
    return text


def fields_of(n: int) -> list[bytes]:
    return [b"n", b"%d" % n]


def numbered(count: int, node_entries: int = 100, start: int = 1) -> Stream:
    """A stream with the IDs `start`-0, and so on, and their number as the field n."""
    stream = Stream()
    for n in range(start, start + count):
        stream.append(make_id(n, 0), fields_of(n), node_entries, 0)
    return stream


def numbers(stream: Stream) -> list[int]:
    """The milliseconds of all IDs."""
    return [entry_id >> 64 for entry_id in stream.ids(MIN_ID, MAX_ID)]


def joined(answer: tuple[int, list[bytes]]) -> tuple[int, bytes]:
    return answer[0], b"".join(answer[1])


# -- appending and reading -------------------------------------------------------------------------


def test_a_new_stream_is_empty() -> None:
    stream = Stream()
    assert (stream.length, stream.entries_added, stream.node_count) == (0, 0, 0)
    assert stream.last_id == stream.first_id == stream.last_live_id == MIN_ID
    assert stream.max_deleted_id == MIN_ID
    assert stream.first_entry() is None
    assert stream.last_entry() is None
    assert stream.range(MIN_ID, MAX_ID) == (0, [])
    assert stream.reverse_range(MAX_ID, MIN_ID) == (0, [])
    assert stream.radix_node_count() == 1


def test_appending_answers_with_the_id_as_a_bulk_string() -> None:
    stream = Stream()
    assert stream.append(make_id(1700000000000, 0), [b"f", b"v"], 100, 4096) == (
        b"$15\r\n1700000000000-0\r\n"
    )
    assert stream.append(MAX_ID, [b"f", b"v"], 100, 4096) == (
        b"$41\r\n18446744073709551615-18446744073709551615\r\n"
    )
    assert stream.last_id == MAX_ID
    assert (stream.length, stream.entries_added) == (2, 2)


def test_the_smallest_possible_id_is_encoded() -> None:
    assert Stream().append(make_id(0, 1), [b"f", b"v"], 100, 4096) == b"$3\r\n0-1\r\n"


def test_a_range_is_inclusive_and_in_wire_form() -> None:
    stream = numbered(5)
    expected = wire(*((make_id(n, 0), fields_of(n)) for n in (2, 3, 4)))
    assert joined(stream.range(make_id(2, 0), make_id(4, 0))) == (3, expected)
    assert joined(stream.range(make_id(1, 1), make_id(4, MAX_SEQ))) == (3, expected)


def test_a_range_that_runs_backwards_is_empty() -> None:
    stream = numbered(5)
    assert stream.range(make_id(4, 0), make_id(2, 0)) == (0, [])
    assert stream.reverse_range(make_id(2, 0), make_id(4, 0)) == (0, [])
    assert stream.ids(make_id(4, 0), make_id(2, 0)) == []


def test_a_count_ends_a_range() -> None:
    stream = numbered(250, node_entries=10)
    for count in (0, 1, 9, 10, 11, 99, 100, 250, 1000):
        found, chunks = stream.range(MIN_ID, MAX_ID, count)
        expected = range(1, 1 + min(count, 250))
        assert found == len(expected)
        assert b"".join(chunks) == wire(*((make_id(n, 0), fields_of(n)) for n in expected))
        ids = [make_id(n, 0) for n in expected]
        assert stream.ids(MIN_ID, MAX_ID, count) == ids
        read = EntryIDs()
        assert stream.read_from(read, MIN_ID, count) == chunks
        assert read == ids


@pytest.mark.parametrize("node_entries", [1, 3, 100])
def test_a_range_within_a_number_of_bytes_ends_with_the_entry_that_uses_them_up(
    node_entries: int,
) -> None:
    stream = Stream()
    for entry_id in range(1, 10):
        stream.append(entry_id, [b"f", b"v"], node_entries, 0)
    size = len(wire((1, [b"f", b"v"])))
    expected = {0: 0, 1: 1, size - 1: 1, size: 1, size + 1: 2, 3 * size: 3, 3 * size + 1: 4}
    for max_bytes, count in expected.items():
        ids = EntryIDs()
        chunks, used_bytes = stream.read_within(ids, MIN_ID, -1, max_bytes)
        assert ids == list(range(1, count + 1))
        assert b"".join(chunks) == joined(stream.range(MIN_ID, MAX_ID, count))[1]
        assert used_bytes == count * size
    ids = EntryIDs()
    _, used_bytes = stream.read_within(ids, 2, 4, 100 * size)
    assert ids == [2, 3, 4, 5]
    assert used_bytes == 4 * size


def test_a_copy_remembers_the_messages_of_producers_by_itself() -> None:
    stream = numbered(1)
    assert stream.copy().idempotence is None
    small = stream.memory_bytes()
    stream.idempotence = Idempotence()
    stream.idempotence.record(b"p", b"1", 1)
    twin = stream.copy()
    stream.idempotence.record(b"p", b"2", 2)
    assert twin.idempotence is not None
    assert twin.idempotence.find(b"p", b"1") == 1
    assert twin.idempotence.find(b"p", b"2") is None
    assert stream.memory_bytes() > small


def test_a_reverse_range_begins_at_its_end() -> None:
    stream = numbered(250, node_entries=10)
    found, chunks = stream.reverse_range(make_id(205, 0), make_id(100, 0), 30)
    expected = range(205, 175, -1)
    assert found == 30
    assert b"".join(chunks) == wire(*((make_id(n, 0), fields_of(n)) for n in expected))


def test_a_single_entry_is_found_by_its_id() -> None:
    stream = numbered(250, node_entries=100)
    for n in (1, 100, 101, 250):
        assert stream.get(make_id(n, 0)) == wire((make_id(n, 0), fields_of(n)))
        assert make_id(n, 0) in stream
        assert stream.get(make_id(n, 1)) is None
    assert MIN_ID not in stream
    assert stream.first_entry() == wire((make_id(1, 0), fields_of(1)))
    assert stream.last_entry() == wire((make_id(250, 0), fields_of(250)))


@pytest.mark.parametrize("node_entries", [1, 7, 100])
def test_many_entries_are_found_by_their_ids_in_any_order(node_entries: int) -> None:
    stream = numbered(300, node_entries)
    for n in (3, 50, 51, 52, 120, 299):
        stream.delete(make_id(n, 0))
    chance = random.Random(1)
    ids = [make_id(n, seq) for n in range(310) for seq in (0, 0, 0, 1) if chance.random() < 0.3]
    straight = [make_id(n, 0) for n in range(310)]
    for wanted in (straight, straight[::40], straight[100:], straight[::-1], ids, [], [MAX_ID]):
        assert stream.entries_of(wanted) == list(map(stream.get, wanted))
    chance.shuffle(ids)
    assert stream.entries_of(ids) == list(map(stream.get, ids))


def test_entries_may_have_any_bytes_and_any_number_of_fields() -> None:
    stream = Stream()
    content = [
        [b"", b""],
        [b"%d%s%%", b"\r\n*2\r\n"],
        [b"a", b"1", b"a", b"2", b"b", bytes(range(256))],
        [b"k%d" % n for n in range(300)],
    ]
    ids = [make_id(n, n) for n in range(1, 5)]
    for entry_id, fields in zip(ids, content, strict=True):
        stream.append(entry_id, fields, 2, 4096)
    expected = wire(*zip(ids, content, strict=True))
    assert joined(stream.range(MIN_ID, MAX_ID)) == (4, expected)


def test_whole_nodes_of_a_range_are_single_chunks() -> None:
    stream = numbered(1000, node_entries=100)
    _, chunks = stream.range(make_id(101, 0), MAX_ID, 800)
    assert len(chunks) == 8


# -- nodes -----------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[int], list[bytes]]] = {
    "one short pair": lambda n: [b"f", b"v"],
    "twelve digits": lambda n: [b"f", b"%012d" % (n * 7919)],
    "twenty characters": lambda n: [b"f", b"x%019d" % n],
    "thirty characters": lambda n: [b"f", b"x" * 30],
    "three pairs": lambda n: [b"a", b"x" * 20, b"b", b"y" * 20, b"c", b"z" * 20],
    "other names each time": lambda n: [b"f%d" % n, b"v"],
    "names that take turns": lambda n: [b"odd", b"1", b"more", b"2"] if n % 2 else [b"even", b"1"],
    "integers": lambda n: [b"a", b"%d" % n, b"b", b"%d" % n**3, b"c", b"%d" % -n],
    "a kilobyte": lambda n: [b"payload", b"x" * 1024],
    "130 pairs": lambda n: [b"1" if i % 2 else b"k%d" % (i // 2) for i in range(260)],
}

ID_STYLES: list[Callable[[int], EntryID]] = [
    lambda n: make_id(1700000000000 + n, 0),
    lambda n: make_id(1700000000000 + n // 16, n % 16),
    lambda n: make_id(1700000000000 + n * 60000, 0),
]


# radix-tree-keys of redis-server 7.0.15 for 1,000 entries, in each style of IDs.
@pytest.mark.parametrize(
    ("shape", "limits", "nodes"),
    [
        ("one short pair", (100, 4096), (10, 10, 10)),
        ("twelve digits", (100, 4096), (10, 10, 10)),
        ("thirty characters", (100, 4096), (10, 10, 11)),
        ("three pairs", (100, 4096), (19, 19, 19)),
        ("integers", (100, 4096), (10, 10, 10)),
        ("a kilobyte", (100, 4096), (334, 334, 334)),
        ("130 pairs", (100, 4096), (91, 91, 91)),
        ("one short pair", (0, 4096), (3, 3, 4)),
        ("twelve digits", (0, 4096), (6, 6, 7)),
        ("twenty characters", (0, 4096), (8, 8, 9)),
        ("other names each time", (0, 4096), (5, 5, 6)),
        ("names that take turns", (0, 4096), (5, 4, 6)),
        ("integers", (0, 4096), (5, 5, 6)),
        ("three pairs", (10, 1000), (100, 100, 100)),
        ("a kilobyte", (10, 1000), (1000, 1000, 1000)),
        ("three pairs", (1000, 65536), (2, 2, 2)),
        ("a kilobyte", (1000, 65536), (16, 16, 16)),
        ("130 pairs", (1000, 65536), (5, 5, 5)),
        ("a kilobyte", (0, 0), (1, 1, 1)),
        ("a kilobyte", (0, (1 << 30) + 1), (1, 1, 1)),
    ],
)
def test_nodes_end_where_those_of_redis_end(
    shape: str, limits: tuple[int, int], nodes: tuple[int, ...]
) -> None:
    counts = []
    for id_of in ID_STYLES:
        stream = Stream()
        for n in range(1000):
            stream.append(id_of(n), SHAPES[shape](n), *limits)
        counts.append(stream.node_count)
    assert tuple(counts) == nodes


def test_new_limits_hold_from_the_next_entry_on() -> None:
    stream = numbered(5, node_entries=2)
    assert stream.node_count == 3
    stream.append(make_id(6, 0), fields_of(6), 100, 4096)
    stream.append(make_id(7, 0), fields_of(7), 100, 4096)
    assert stream.node_count == 3
    stream.append(make_id(8, 0), fields_of(8), 2, 4096)
    assert stream.node_count == 4


def test_an_earlier_node_takes_entries_again_when_it_has_become_the_last() -> None:
    stream = Stream()
    stream.append(1, [b"f", b"v"], 10, 4096)
    stream.append(2, [b"f", b"x" * 5000], 10, 4096)
    assert stream.node_count == 2
    stream.delete(2)
    assert stream.node_count == 1
    stream.append(3, [b"f", b"v"], 10, 4096)
    assert stream.node_count == 1
    assert stream.ids(MIN_ID, MAX_ID) == [1, 3]


def test_a_full_node_stays_full_when_it_has_become_the_last() -> None:
    stream = numbered(3, node_entries=2)
    stream.delete(make_id(1, 0))
    stream.delete(make_id(3, 0))
    assert stream.node_count == 1
    stream.append(make_id(4, 0), fields_of(4), 2, 0)
    assert stream.node_count == 2


def test_a_thinned_out_node_takes_entries_again_when_it_is_the_last() -> None:
    for order in ([21, *range(2, 21)], [*range(2, 21), 21]):
        stream = numbered(21, node_entries=20)
        for n in order:
            stream.delete(make_id(n, 0))
        stream.append(make_id(22, 0), fields_of(22), 100, 0)
        assert stream.node_count == 1
        assert numbers(stream) == [1, 22]


def test_the_last_node_counts_the_bytes_of_its_deleted_entries() -> None:
    stream = Stream()
    for n in range(1, 21):
        stream.append(n, [b"f", b"x" * 100], 20, 0)
    stream.append(21, [b"f", b"v"], 20, 0)
    for n in (21, *range(2, 21)):
        stream.delete(n)
    # Redis still holds the 20 entries of more than 100 bytes each.
    stream.append(22, [b"f", b"v"], 100, 2000)
    assert stream.node_count == 2


def test_the_tail_counts_its_deleted_entries() -> None:
    stream = numbered(2, node_entries=3)
    stream.delete(make_id(1, 0))
    stream.append(make_id(3, 0), fields_of(3), 3, 0)
    assert stream.node_count == 1
    stream.append(make_id(4, 0), fields_of(4), 3, 0)
    assert stream.node_count == 2


# -- deleting --------------------------------------------------------------------------------------


def test_a_deleted_entry_is_in_no_result() -> None:
    for node_entries in (1, 2, 10, 100):
        stream = numbered(30, node_entries)
        for n in (1, 5, 6, 30):
            assert stream.delete(make_id(n, 0))
            assert not stream.delete(make_id(n, 0))
            assert make_id(n, 0) not in stream
        left = [n for n in range(1, 31) if n not in (1, 5, 6, 30)]
        assert numbers(stream) == left
        expected = wire(*((make_id(n, 0), fields_of(n)) for n in left))
        assert joined(stream.range(MIN_ID, MAX_ID)) == (26, expected)
        assert stream.length == 26
        assert (stream.first_id, stream.last_live_id) == (make_id(2, 0), make_id(29, 0))
        assert stream.last_id == make_id(30, 0)
        assert stream.entries_added == 30


def test_the_greatest_deleted_id_is_remembered() -> None:
    stream = numbered(5)
    stream.delete(make_id(4, 0))
    stream.delete(make_id(2, 0))
    stream.delete(make_id(9, 0))
    assert stream.max_deleted_id == make_id(4, 0)


def test_a_node_without_entries_is_dropped() -> None:
    stream = numbered(6, node_entries=2)
    for n in (3, 4):
        stream.delete(make_id(n, 0))
    assert stream.node_count == 2
    for n in (1, 2, 5, 6):
        stream.delete(make_id(n, 0))
    assert stream.node_count == 0
    assert stream.first_id == MIN_ID
    stream.append(make_id(7, 0), fields_of(7), 2, 0)
    assert numbers(stream) == [7]


def test_a_node_of_which_little_is_left_gives_memory_back() -> None:
    stream = numbered(1000)
    full = stream.memory_bytes()
    for n in range(1, 1001):
        if n % 100:
            stream.delete(make_id(n, 0))
    assert stream.memory_bytes() < full / 2
    assert stream.node_count == 10
    assert numbers(stream) == list(range(100, 1100, 100))


# -- trimming --------------------------------------------------------------------------------------


@pytest.mark.parametrize("node_entries", [1, 2, 10, 100])
def test_an_exact_trim_leaves_the_exact_number(node_entries: int) -> None:
    for max_length in (0, 1, 9, 10, 11, 99, 100, 101, 150):
        stream = numbered(150, node_entries)
        assert stream.trim_to_length(max_length) == 150 - max_length
        assert stream.length == max_length
        assert numbers(stream) == list(range(151 - max_length, 151))
        assert stream.trim_to_length(max_length) == 0


@pytest.mark.parametrize(
    ("node_entries", "max_length", "limit", "left"),
    [
        (10, 45, 0, 50),  # the next node would leave 40
        (10, 50, 0, 50),
        (10, 41, 0, 50),
        (10, 40, 0, 40),
        (100, 45, 0, 50),
        (100, 51, 0, 150),
        (1, 45, 0, 45),
        (2, 45, 0, 46),
        (10, 0, 0, 0),
        (10, 45, 9, 150),  # one node is more work than the limit allows
        (10, 45, 10, 140),
        (10, 45, 25, 130),
        (10, 200, 0, 150),
    ],
)
def test_an_approximate_trim_removes_whole_nodes_within_the_limit(
    node_entries: int, max_length: int, limit: int, left: int
) -> None:
    stream = numbered(150, node_entries)
    removed = stream.trim_to_length(max_length, approximate=True, limit=limit)
    assert removed == 150 - left
    assert numbers(stream) == list(range(151 - left, 151))


def test_a_trim_before_an_id_removes_what_is_below_it() -> None:
    for node_entries in (1, 2, 10, 100):
        stream = numbered(150, node_entries)
        assert stream.trim_before(make_id(57, 0)) == 56
        assert stream.trim_before(make_id(57, 0)) == 0
        assert stream.trim_before(make_id(57, 1)) == 1
        assert stream.first_id == make_id(58, 0)
        assert stream.trim_before(MAX_ID) == 93
        assert (stream.length, stream.node_count) == (0, 0)


def test_an_approximate_trim_before_an_id_keeps_nodes_that_reach_it() -> None:
    stream = numbered(150, node_entries=10)
    assert stream.trim_before(make_id(60, 0), approximate=True) == 50
    assert stream.trim_before(make_id(61, 0), approximate=True) == 10
    assert stream.trim_before(make_id(100, 0), approximate=True, limit=9) == 0
    assert stream.trim_before(make_id(100, 0), approximate=True, limit=25) == 20


def test_a_node_reaches_as_far_as_its_last_entry_even_if_that_is_deleted() -> None:
    for count, delete_first in ((3, True), (4, False), (4, True)):  # tail, frozen before or after
        stream = numbered(3, node_entries=3)
        if delete_first:
            stream.delete(make_id(3, 0))
        if count > 3:
            stream.append(make_id(4, 0), fields_of(4), 3, 0)
        stream.delete(make_id(3, 0))
        assert stream.trim_before(make_id(3, 0), approximate=True) == 0
        assert stream.trim_before(make_id(3, 0)) == 2
        assert stream.node_count == count - 3
        assert stream.trim_before(make_id(3, 0)) == 0
        assert stream.length == count - 3
        assert stream.first_id == (make_id(4, 0) if count > 3 else MIN_ID)
        stream.append(make_id(9, 0), fields_of(9), 3, 0)
        assert numbers(stream) == [*range(4, count + 1), 9]
        assert stream.trim_before(make_id(9, 0)) == count - 3
        assert stream.node_count == 1


def test_trimming_does_not_touch_the_greatest_deleted_id() -> None:
    stream = numbered(20, node_entries=10)
    stream.delete(make_id(3, 0))
    stream.trim_to_length(5)
    stream.trim_before(make_id(18, 0))
    assert stream.max_deleted_id == make_id(3, 0)
    assert stream.entries_added == 20


# -- the whole -------------------------------------------------------------------------------------


def test_a_copy_lives_a_life_of_its_own() -> None:
    stream = numbered(25, node_entries=10)
    stream.delete(make_id(13, 0))
    stream.access_ms, stream.serial = 77, 5
    stream.groups[b"g"] = Group(b"g", make_id(4, 0), 4)
    twin = stream.copy()
    for name in ("length", "last_id", "max_deleted_id", "entries_added", "access_ms"):
        assert getattr(twin, name) == getattr(stream, name)
    assert twin.serial == 0  # the keyspace gives it a place of its own
    before = stream.range(MIN_ID, MAX_ID)
    assert joined(twin.range(MIN_ID, MAX_ID)) == joined(before)

    twin.append(make_id(26, 0), fields_of(26), 10, 0)
    twin.delete(make_id(14, 0))
    twin.trim_to_length(3)
    twin.groups[b"g"].entries_read = 9
    assert joined(stream.range(MIN_ID, MAX_ID)) == joined(before)
    assert stream.groups[b"g"].entries_read == 4
    stream.append(make_id(26, 0), fields_of(26), 10, 0)
    assert stream.node_count == 3


def test_releasing_a_stream_disbands_its_groups() -> None:
    stream = numbered(3)
    group = stream.groups[b"g"] = Group(b"g", MIN_ID)
    group.deliver(group.create_consumer(b"c", 0), stream.ids(MIN_ID, MAX_ID), 0)
    stream.release()
    assert len(group.pending) == 0


def test_the_memory_is_near_what_python_counts() -> None:
    chance = random.Random(1)
    content = [[b"f", b"%012d" % chance.randrange(10**12)] for _ in range(20_000)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        stream = Stream()
        for n, fields in enumerate(content):
            stream.append(make_id(1700000000000 + n, 0), fields, 100, 4096)
        counted = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert counted < 26 * len(content)
    assert 0.8 < stream.memory_bytes() / counted < 1.2


def test_the_first_id_is_right_after_as_many_entries_went_as_came() -> None:
    """Of a node that takes entries, of one that takes none any more, and of one that is thawed."""
    stream = Stream()
    for number in range(1, 4):
        stream.append(make_id(number, 0), [b"f", b"v"], 4, 0)
    assert stream.first_id == make_id(1, 0)
    stream.delete(make_id(1, 0))
    stream.append(make_id(4, 0), [b"f", b"v"], 0, 0)
    assert stream.first_id == make_id(2, 0)
    for number in range(5, 12):
        stream.append(make_id(number, 0), [b"f", b"v"], 4, 0)
    assert stream.first_id == make_id(2, 0)
    stream.delete(make_id(2, 0))
    assert stream.first_id == make_id(3, 0)
    stream.trim_to_length(5)
    assert stream.first_id == make_id(7, 0)
