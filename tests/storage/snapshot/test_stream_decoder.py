"""Bodies of RDB values become streams, or are refused."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, MIN_ID, make_id
from storage.groups.group import LOADED_AT_ONCE, MAX_DELIVERIES, UNKNOWN
from storage.nodes.listpack_node import DamagedNode, ListpackNode
from storage.redis_format.listpack import Element
from storage.redis_format.primitives import CorruptSnapshot, Cursor, encode_length
from storage.snapshot.format import Reading
from storage.snapshot.stream_decoder import stream_steps
from storage.snapshot.stream_refusals import refusal
from storage.stream import Stream
from tests.storage.snapshot.bodies import (
    NOW_MS,
    ONLY_ID,
    ONLY_KEY,
    ConsumerFields,
    GroupFields,
    NodeFields,
    PendingFields,
    StreamFields,
    decoded,
    encoded,
)
from tests.storage.snapshot.drawn_streams import describe, drawn_plain_streams, drawn_streams
from tests.support.consistency import contradictions

TYPES = [15, 19, 21, 26, 27]

# What a pending entry takes at most while it is read, in the batch and where it is kept.
ROW_MOST_BYTES = 400


@given(drawn_streams(), st.booleans(), st.booleans())
def test_a_stream_comes_back_as_it_was(stream: Stream, compress: bool, trusted: bool) -> None:
    body = encoded(stream, compress=compress)
    again = decoded(body, trusted=trusted)
    assert encoded(again, compress=compress) == body
    assert describe(again.copy()) == describe(stream)
    assert contradictions(again) == []
    assert describe(again) == describe(stream)


@given(drawn_plain_streams(), st.sampled_from(TYPES))
def test_what_a_type_has_no_field_for_is_made_up(stream: Stream, stream_type: int) -> None:
    again = decoded(encoded(stream, stream_type), stream_type)
    assert contradictions(again) == []
    if stream_type < 19:
        again.entries_added, again.max_deleted_id = stream.entries_added, stream.max_deleted_id
    for name, group in stream.groups.items():
        for consumer in again.groups[name].consumers.values() if stream_type < 21 else ():
            assert consumer.active_ms == consumer.seen_ms
            consumer.active_ms = group.consumers[consumer.name].active_ms
        if stream_type < 19:
            again.groups[name].entries_read = group.entries_read
    assert describe(again) == describe(stream)


def test_in_the_form_of_redis_5_counters_follow_from_the_entries() -> None:
    stream = Stream()
    for ms in range(1, 6):
        stream.append(make_id(ms, 0), [b"f", b"v"], 100, 4096)
    stream.delete(make_id(2, 0))
    body = encoded(stream, 15)
    groups = b"\x02" + b"".join(
        b"\x01" + n + i for n, i in ((b"g", b"\5\0\0\0"), (b"h", b"\3\0\0\0"))
    )
    again = decoded(body[:-1] + groups, 15)
    assert (again.length, again.entries_added, again.max_deleted_id) == (4, 4, MIN_ID)
    assert again.groups[b"g"].entries_read == 4
    assert again.groups[b"h"].entries_read == UNKNOWN


@given(st.data())
def test_pending_entries_in_any_order_and_of_any_count_are_read(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(1, MAX_ID), unique=True, max_size=40))
    counts = st.one_of(st.integers(0, 5), st.integers(60, 70), st.integers(0, 2**64 - 1))
    times = st.integers(0, 2**63 - 1)
    rows = [PendingFields(i, data.draw(times), data.draw(counts)) for i in ids]
    half = len(ids) // 2
    consumers = [ConsumerFields(b"a", pending=ids[:half]), ConsumerFields(b"b", pending=ids[half:])]
    group = GroupFields(pending=rows, consumers=consumers)
    stream = decoded(StreamFields(groups=[group]).body())
    assert contradictions(stream) == []
    there = stream.groups[b"g"].pending
    for row in rows:
        entry = there[row.entry_id]
        assert entry.delivery_ms == row.delivery_ms
        assert entry.delivery_count == min(row.count, MAX_DELIVERIES)
        assert entry.consumer is not None
        assert entry.consumer.name == (b"a" if row.entry_id in ids[:half] else b"b")


def test_many_pending_entries_with_long_counts_among_them_are_read() -> None:
    rows = [PendingFields(i, i, 70 if i % 1500 == 0 else 1) for i in range(1, 12_000)]
    ids = [row.entry_id for row in rows]
    group = GroupFields(pending=rows, consumers=[ConsumerFields(pending=ids)])
    there = decoded(StreamFields(groups=[group]).body()).groups[b"g"]
    read = [
        PendingFields(e.entry_id, e.delivery_ms, e.delivery_count) for e in there.pending.values()
    ]
    assert read == rows
    assert [row[0] for row in there.claimable(0, 0)] == ids


def test_a_stream_that_nothing_was_remembered_of_has_no_memory() -> None:
    assert decoded(StreamFields().body()).idempotence is None
    for used in (
        StreamFields(limits=(101, 100)),
        StreamFields(limits=(100, 99)),
        StreamFields(counters=(1, 0)),
        StreamFields(counters=(0, 1)),
        StreamFields(producers=[(b"p", [(b"i", 5)])]),
    ):
        memory = decoded(used.body()).idempotence
        assert memory is not None
        assert (memory.duration_s, memory.maxsize) == used.limits
        assert (memory.added, memory.duplicates) == used.counters


def test_a_producer_without_messages_is_passed_over() -> None:
    stream = decoded(StreamFields(producers=[(b"p", []), (b"q", [(b"i", 5)])]).body())
    assert stream.idempotence is not None
    assert stream.idempotence.producers == {b"q": {b"i": 5}}


# -- what is refused ---------------------------------------------------------------------------

ENTRY: tuple[Element, ...] = (2, 0, 0, b"v", 4)
FIRST = NodeFields()
SECOND = NodeFields(make_id(6, 0).to_bytes(16, "big"))
BOTH = StreamFields(nodes=[FIRST, SECOND], length=2, last_id=make_id(6, 0), entries_added=2)
PENDING = GroupFields(pending=[PendingFields(7), PendingFields(8)])
OWNED = [ConsumerFields(pending=[7, 8])]


def with_group(group: GroupFields) -> StreamFields:
    return StreamFields(groups=[group])


REFUSED = {
    "a short key": StreamFields(nodes=[NodeFields(b"short")]),
    "a length that is too small": StreamFields(length=0),
    "a length that is too large": StreamFields(length=2),
    "a length without nodes": StreamFields(nodes=[]),
    "a last ID below the entry": StreamFields(last_id=make_id(4, 9)),
    "nodes in the wrong order": replace(BOTH, nodes=[SECOND, FIRST]),
    "a node twice": replace(BOTH, nodes=[FIRST, FIRST]),
    "a node that begins above the last ID": replace(BOTH, last_id=make_id(5, 9)),
    "a listpack without counts": StreamFields(nodes=[NodeFields(ONLY_KEY, [b"x"])]),
    "an empty listpack": StreamFields(nodes=[NodeFields(ONLY_KEY, [])], length=0),
    "fewer entries added than there are": StreamFields(entries_added=0),
    "entries added beyond 63 bits": StreamFields(entries_added=2**63),
    "two groups of a name": StreamFields(groups=[GroupFields(), GroupFields()]),
    "entries read beyond 63 bits": with_group(GroupFields(entries_read=2**63)),
    "an entry that nobody owns": with_group(PENDING),
    "an entry that only one part owns": with_group(
        replace(PENDING, consumers=[ConsumerFields(pending=[7])])
    ),
    "an entry that two own": with_group(
        replace(PENDING, consumers=[*OWNED, ConsumerFields(b"d", pending=[7])])
    ),
    "an entry that one owns twice": with_group(
        replace(PENDING, consumers=[ConsumerFields(pending=[7, 8, 7])])
    ),
    "an entry that is not pending": with_group(
        replace(PENDING, consumers=[ConsumerFields(pending=[7, 8, 9])])
    ),
    "an entry that is owned and released": with_group(
        replace(PENDING, consumers=OWNED, released=[7])
    ),
    "an entry that is released twice": with_group(replace(PENDING, released=[7, 8, 7])),
    "an entry that is released and not pending": with_group(replace(PENDING, released=[7, 8, 9])),
    "an entry that is pending twice": with_group(
        GroupFields(pending=[PendingFields(7), PendingFields(7)], released=[7])
    ),
    "a delivery before 1970": with_group(GroupFields(pending=[PendingFields(7, -1)], released=[7])),
    "two consumers of a name": with_group(
        GroupFields(consumers=[ConsumerFields(), ConsumerFields()])
    ),
    "no time to remember": StreamFields(limits=(0, 100)),
    "too long a time to remember": StreamFields(limits=(86_401, 100)),
    "no messages to remember": StreamFields(limits=(100, 0)),
    "too many messages to remember": StreamFields(limits=(100, 10_001)),
    "more messages than are to be remembered": StreamFields(
        limits=(100, 1), producers=[(b"p", [(b"i", 5), (b"j", 5)])]
    ),
    "a message twice": StreamFields(producers=[(b"p", [(b"i", 5), (b"i", 6)])]),
    "a producer twice": StreamFields(producers=[(b"p", [(b"i", 5)]), (b"p", [(b"j", 5)])]),
    "a producer without a name": StreamFields(producers=[(b"", [(b"i", 5)])]),
    "a message without a name": StreamFields(producers=[(b"p", [(b"", 5)])]),
    "a counter beyond 63 bits": StreamFields(counters=(2**63, 0)),
}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("what", REFUSED)
def test_refused_is(what: str, trusted: bool) -> None:
    with pytest.raises(CorruptSnapshot) as refused:
        decoded(REFUSED[what].body(), trusted=trusted)
    assert refused.value.offset >= len(b"before")


def test_what_the_refused_ones_were_made_of_is_read() -> None:
    for fields in (
        StreamFields(),
        BOTH,
        with_group(replace(PENDING, consumers=OWNED)),
        with_group(replace(PENDING, consumers=[ConsumerFields(pending=[8])], released=[7])),
        StreamFields(producers=[(b"p", [(b"i", 5), (b"j", 5)]), (b"q", [(b"i", 5)])]),
    ):
        for trusted in (False, True):
            assert contradictions(decoded(fields.body(), trusted=trusted)) == []


DEAD = (0, 1, 1, b"f", 0, 3, 0, 0, b"v", 4)
LAST_DEAD = NodeFields(make_id(6, 0).to_bytes(16, "big"), DEAD)
READ_TOO_MUCH = GroupFields(last_id=ONLY_ID, entries_read=9)

PUT_RIGHT = {
    "a node without a live entry": (
        StreamFields(nodes=[NodeFields(ONLY_KEY, DEAD)], length=0, first_id=0),
        StreamFields(nodes=[], length=0, first_id=0),
    ),
    "a last node without a live entry": (
        replace(BOTH, nodes=[FIRST, LAST_DEAD], length=1),
        replace(BOTH, nodes=[FIRST], length=1),
    ),
    "another first ID": (StreamFields(first_id=make_id(4, 0)), StreamFields()),
    "more entries read than were added": (
        with_group(READ_TOO_MUCH),
        with_group(replace(READ_TOO_MUCH, entries_read=1)),
    ),
    "a deletion above the last ID": (
        StreamFields(max_deleted_id=make_id(7, 0)),
        StreamFields(max_deleted_id=ONLY_ID),
    ),
}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("what", PUT_RIGHT)
def test_put_right_is(what: str, trusted: bool) -> None:
    """A Redis before 8.10 writes it, and Redis 8.10 does not load it."""
    wrong, right = (fields.body() for fields in PUT_RIGHT[what])
    stream = decoded(wrong, trusted=trusted)
    assert encoded(stream, 27) == encoded(decoded(right), 27)
    assert contradictions(stream) == []
    assert all(node.live for node in stream.iter_nodes())
    assert refusal(27, wrong) is not None
    assert refusal(27, encoded(stream, 27)) is None


def test_a_strict_reader_refuses_whatever_is_refused_and_nothing_else() -> None:
    assert [what for what in REFUSED if refusal(27, REFUSED[what].body()) is None] == []
    assert refusal(27, StreamFields(surplus=b"x").body()) == "1 bytes follow"
    for fields in (StreamFields(), BOTH, with_group(replace(PENDING, consumers=OWNED))):
        assert refusal(27, fields.body()) is None


INSIDE = {
    "fewer entries than counted": (1, 1, 1, b"f", 0, *ENTRY),
    "an ID beyond the next node": (1, 0, 1, b"f", 0, 2, 1, 0, b"v", 4),
    "a deleted ID beyond the next node": (1, 1, 1, b"f", 0, *ENTRY, 3, 9, 0, b"v", 4),
    "a length that is wrong": (1, 0, 1, b"f", 0, 2, 0, 0, b"v", 5),
}


@pytest.mark.parametrize("what", INSIDE)
def test_inside_of_a_node_refused_is(what: str) -> None:
    body = replace(BOTH, nodes=[NodeFields(ONLY_KEY, INSIDE[what]), SECOND]).body()
    with pytest.raises(CorruptSnapshot):
        decoded(body)
    trusted = decoded(body, trusted=True)
    with pytest.raises(DamagedNode, match="entries 5-0 to 5-18446744073709551615"):
        trusted.range(MIN_ID, MAX_ID)
    assert trusted.range(make_id(6, 0), MAX_ID)[0] == 1


ONE_CONSUMER = with_group(GroupFields(consumers=[ConsumerFields()]))


@pytest.mark.parametrize(
    ("what", "fields", "place"),
    [
        ("nodes", StreamFields(), 0),
        ("groups", StreamFields(), -8),
        ("producers", StreamFields(), -3),
        ("pending entries", with_group(GroupFields()), -10),
        ("consumers", with_group(GroupFields()), -9),
        ("released entries", with_group(GroupFields()), -8),
        ("pending entries of a consumer", ONE_CONSUMER, -9),
        ("messages", StreamFields(producers=[(b"p", [])]), -3),
    ],
)
def test_a_count_without_room_for_what_it_counts_is_refused_at_once(
    what: str, fields: StreamFields, place: int
) -> None:
    body = fields.body()
    place %= len(body)
    assert decoded(body)
    with pytest.raises(CorruptSnapshot, match="do not fit") as refused:
        decoded(body[:place] + encode_length(2**62) + bytes(100))
    assert refused.value.offset == len(b"before") + place, what


# -- fuzz --------------------------------------------------------------------------------------


@st.composite
def damaged_bodies(draw: st.DrawFn) -> bytes:
    """The body of a stream with bytes changed, cut out, put in or repeated."""
    body = bytearray(encoded(draw(drawn_streams()), compress=draw(st.booleans())))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(body)))
        end = start + draw(st.sampled_from([0, 1, 1, 2, 16]))
        kind = draw(st.integers(0, 3))
        if kind == 0 and start < len(body):
            body[start] ^= draw(st.integers(1, 255))
        elif kind == 1:
            del body[start:end]
        elif kind == 2:
            body[start:start] = body[start:end]
        else:
            body[start:end] = draw(st.binary(max_size=20))
    return bytes(body)


@given(damaged_bodies())
def test_a_damaged_stream_is_refused_or_whole(body: bytes) -> None:
    for trusted in (False, True):
        try:
            stream = decoded(body, trusted=trusted)
        except (CorruptSnapshot, AssertionError):  # or bytes are left, which is for the caller
            continue
        assert usable(stream, trusted=trusted)


def usable(stream: Stream, *, trusted: bool) -> bool:
    """Whether a stream contradicts itself nowhere but in packed nodes that say so."""
    try:
        return contradictions(stream) == [] and contradictions(decoded(encoded(stream))) == []
    except DamagedNode:
        assert trusted
    while (damaged := first_damaged(stream)) is not None:
        stream.trim_before(damaged.end + 1)
    return contradictions(stream) == []


def first_damaged(stream: Stream) -> ListpackNode | None:
    for node in stream.iter_nodes():
        if isinstance(node, ListpackNode):
            try:
                node.unpack()
            except DamagedNode:
                return node
    return None


@pytest.mark.parametrize("kind", ["delivered", "claimed", "released", "in any order"])
def test_no_step_allocates_or_frees_more_than_a_batch(kind: str) -> None:
    """A server that freed a list of all pending entries at once would not answer meanwhile."""
    count = 3 * LOADED_AT_ONCE
    ids = [make_id(number, 0) for number in range(1, count + 1)]
    times = [count - at // 100 if kind == "claimed" else at for at in range(count)]
    pending = [PendingFields(i, ms) for i, ms in zip(ids, times, strict=True)]
    if kind == "in any order":
        pending.reverse()
    released = ids if kind == "released" else []
    consumers = [ConsumerFields(b"c", pending=[] if released else ids)]
    group = GroupFields(pending=pending, consumers=consumers, released=released)
    cursor = Cursor(StreamFields(groups=[group]).body(), 0)
    steps = stream_steps(cursor, 27, Reading(NOW_MS, NOW_MS))
    tracemalloc.start()
    held = [tracemalloc.get_traced_memory()[0] for _ in steps]
    tracemalloc.stop()
    assert cursor.left == 0
    changes = [later - earlier for earlier, later in pairwise(held)]
    assert max(changes) < LOADED_AT_ONCE * ROW_MOST_BYTES
    assert min(changes) > -LOADED_AT_ONCE * ROW_MOST_BYTES
