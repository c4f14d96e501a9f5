"""Streams of every kind for hypothesis, and everything that can be known of one as plain data."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID
from storage.groups.group import UNKNOWN, Group
from storage.idempotence import Idempotence
from storage.stream import Stream

NOW_MS = 1_700_000_000_000

_texts = st.one_of(
    st.binary(max_size=8),
    st.integers(-(1 << 63), 1 << 63).map(lambda number: b"%d" % number),
    st.builds(lambda piece, times: piece * times, st.binary(max_size=5), st.integers(0, 60)),
)
_names = st.sampled_from([b"", b"a", b"b", b"12", b"\xff\x00name"])
_times_ms = st.integers(0, NOW_MS)
_counts = st.integers(0, 1 << 40)


@st.composite
def drawn_streams(draw: DrawFn) -> Stream:
    """A stream with deleted entries, groups, pending and released entries, and messages."""
    stream = Stream()
    ids = sorted(draw(st.sets(_ids(), max_size=25)))
    limit = draw(st.sampled_from([1, 3, 100]))
    names = draw(st.lists(_texts, min_size=1, max_size=3))
    for entry_id in ids:
        if draw(st.integers(0, 3)) == 0:
            names = draw(st.lists(_texts, min_size=1, max_size=3))
        fields = [part for name in names for part in (name, draw(_texts))]
        stream.append(entry_id, fields, limit, 4096)
    for entry_id in ids:
        if draw(st.integers(0, 4)) == 0:
            stream.delete(entry_id)
    stream.last_id = draw(st.sampled_from([stream.last_id, MAX_ID]))
    stream.entries_added += draw(st.integers(0, 3))
    for name in draw(st.sets(_names, max_size=2)):
        stream.groups[name] = draw(_groups(name, ids))
    if draw(st.booleans()):
        stream.idempotence = draw(_memories(ids))
    return stream


@st.composite
def drawn_plain_streams(draw: DrawFn) -> Stream:
    """A stream that every type since Redis 7.2 can say: nothing is released or remembered."""
    stream = draw(drawn_streams())
    stream.idempotence = None
    for group in stream.groups.values():
        for entry in list(group.nacked()):
            group.acknowledge(entry.entry_id)
    return stream


def _ids() -> st.SearchStrategy[EntryID]:
    parts = st.one_of(st.integers(0, 20), st.integers(0, (1 << 64) - 1))
    recent_ms = st.integers(NOW_MS - 200_000, NOW_MS)
    parts_ms = st.one_of(recent_ms, parts)
    return st.builds(lambda ms, seq: ms << 64 | seq, parts_ms, parts).filter(lambda i: i > MIN_ID)


@st.composite
def _groups(draw: DrawFn, name: bytes, ids: list[EntryID]) -> Group:
    group = Group(name, draw(st.sampled_from([MIN_ID, MAX_ID, *ids])))
    group.entries_read = draw(st.sampled_from([UNKNOWN, 0, len(ids)]))
    consumers = [
        group.create_consumer(consumer, draw(_times_ms))
        for consumer in sorted(draw(st.sets(_names, max_size=3)))
    ]
    for consumer in consumers:
        consumer.active_ms = draw(st.sampled_from([-1, consumer.seen_ms]))
    for entry_id in sorted(draw(st.sets(st.sampled_from(ids)))) if ids else []:
        owner = draw(st.sampled_from([None, *consumers]))
        group.add(entry_id, owner, draw(_times_ms), draw(_counts))
    return group


@st.composite
def _memories(draw: DrawFn, ids: list[EntryID]) -> Idempotence:
    memory = Idempotence(draw(st.integers(1, 86_400)), draw(st.integers(1, 10_000)))
    memory.added = memory.duplicates = draw(_counts)
    named = _names.filter(bool)
    for pid in draw(st.sets(named, max_size=2)) if ids else []:
        iids = draw(st.lists(named, unique=True, max_size=3))
        entries = sorted(draw(st.lists(st.sampled_from(ids), min_size=3, max_size=3)))
        for iid, entry_id in zip(iids, entries, strict=False):
            memory.record(pid, iid, entry_id)
    return memory


def describe(stream: Stream, now_ms: int = NOW_MS) -> dict[str, Any]:
    """All there is to know of a stream but how its entries lie in nodes."""
    memory = stream.idempotence
    return {
        "entries": b"".join(stream.range(MIN_ID, MAX_ID)[1]),
        "ids": (stream.length, stream.first_id, stream.last_id, stream.max_deleted_id),
        "added": stream.entries_added,
        "groups": {name: _describe_group(group) for name, group in stream.groups.items()},
        "memory": None if memory is None else _describe_memory(memory, now_ms),
    }


def _describe_group(group: Group) -> dict[str, Any]:
    return {
        "stands at": (group.last_delivered_id, group.entries_read),
        "consumers": {
            name: (consumer.seen_ms, consumer.active_ms, list(consumer.pending))
            for name, consumer in group.consumers.items()
        },
        "pending": [
            (
                entry.entry_id,
                entry.consumer and entry.consumer.name,
                entry.delivery_ms,
                entry.delivery_count,
            )
            for entry in group.pending.values()
        ],
        "released": [entry.entry_id for entry in group.nacked()],
    }


def _describe_memory(memory: Idempotence, now_ms: int) -> dict[str, Any]:
    twin = memory.copy()
    twin.expire(now_ms)
    return {
        "limits": (twin.duration_s, twin.maxsize),
        "counters": (twin.added, twin.duplicates, twin.iids_tracked),
        "producers": {pid: list(messages.items()) for pid, messages in twin.producers.items()},
    }
