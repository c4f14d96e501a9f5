"""Checks the internal consistency of a stream: everything that must agree at any time.

`contradictions` looks into everything (packed nodes are unpacked) and answers with sentences; an
empty list is a whole stream. It asks the stream the questions that commands ask, forwards and
backwards, and compares the answers with each other and with the plain parts they come from. What a
file would have of it must be what Redis 8.10 loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, starmap
from operator import attrgetter

from storage.entries.entry import decode_fields, encode_id
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, format_id
from storage.groups.group import MAX_DELIVERIES, RELEASED_MS, UNKNOWN, Group
from storage.groups.pending_block import ConsumerPending, PendingEntry
from storage.groups.pending_list import PendingList
from storage.idempotence import Idempotence
from storage.snapshot.stream_encoder import STREAM_TYPES, stream_pieces
from storage.snapshot.stream_refusals import refusal
from storage.stream import Stream, lag

FAR_FUTURE_MS = 2**64


def contradictions(stream: Stream) -> list[str]:
    """What does not agree in a stream, its groups and its memory of producers."""
    found = [*_of_nodes(stream), *_of_entries(stream), *_of_counters(stream)]
    for name, group in stream.groups.items():
        if group.name != name:
            found.append(f"group {group.name!r} is kept as {name!r}")
        found += (f"group {name!r}: {text}" for text in _of_group(group))
        found += (f"group {name!r}: {text}" for text in _of_progress(stream, group))
    if stream.idempotence is not None:
        found += _of_memory(stream.idempotence)
    return found or [*_of_bodies(stream)]


def _of_bodies(stream: Stream) -> Iterator[str]:
    for stream_type in sorted(STREAM_TYPES):
        pieces = stream_pieces(stream, stream_type, compress=False, now_ms=0)
        reason = refusal(stream_type, b"".join(pieces))
        if reason is not None:
            yield f"Redis 8.10 would not load it as type {stream_type}: {reason}"


# -- entries -----------------------------------------------------------------------------------


def _of_nodes(stream: Stream) -> Iterator[str]:
    nodes = list(stream._nodes.between(MIN_ID, MAX_ID))
    keys = [node.key for node in nodes]
    if keys != sorted(set(keys)):
        yield "the keys of nodes do not ascend"
    ends = [*keys, stream.last_id + 1][1:]
    for node, end in zip(nodes, ends, strict=True):
        ids = node.select_ids(MIN_ID, MAX_ID, node.live)
        if not ids:
            yield f"node {node.key} has no live entry"
        if len(ids) != node.live:
            yield f"node {node.key} says {node.live} live entries and has {len(ids)}"
        if not all(node.key <= entry_id < end for entry_id in ids):
            yield f"node {node.key} has IDs that belong elsewhere"
        if node.deleted < 0 or not node.key <= node.highest_id < end:
            yield f"node {node.key} counts {node.deleted} deleted, and ends at {node.highest_id}"


def _of_entries(stream: Stream) -> Iterator[str]:
    ids = stream.ids(MIN_ID, MAX_ID)
    entries = [stream.get(entry_id) for entry_id in ids]
    if ids != sorted(set(ids)) or MIN_ID in ids:
        yield "the IDs do not ascend from 0-1 on"
    for entry_id, entry in zip(ids, entries, strict=True):
        if entry is None or not entry.startswith(b"*2\r\n" + encode_id(entry_id)):
            yield f"{_text(entry_id)} is not the ID of its entry"
        elif not decode_fields(entry) or len(decode_fields(entry)) % 2:
            yield f"{_text(entry_id)} has no pairs of fields and values"
    whole = b"".join(entry for entry in entries if entry is not None)
    count, chunks = stream.range(MIN_ID, MAX_ID)
    if (count, b"".join(chunks)) != (len(ids), whole):
        yield "a range is not what its entries are"
    count, chunks = stream.reverse_range(MAX_ID, MIN_ID)
    backwards = b"".join(entry for entry in reversed(entries) if entry is not None)
    if (count, b"".join(chunks)) != (len(ids), backwards):
        yield "a range backwards is not what its entries are"


def _of_counters(stream: Stream) -> Iterator[str]:
    ids = stream.ids(MIN_ID, MAX_ID)
    if stream.length != len(ids):
        yield f"length is {stream.length}, and there are {len(ids)} entries"
    first_id, last_live_id = (ids[0], ids[-1]) if ids else (MIN_ID, MIN_ID)
    if (stream.first_id, stream.last_live_id) != (first_id, last_live_id):
        yield f"the first or the last ID is not {_text(first_id)} or {_text(last_live_id)}"
    if stream.last_id < last_live_id:
        yield f"the last ID {_text(stream.last_id)} is below {_text(last_live_id)}"
    if stream.entries_added < stream.length:
        yield f"{stream.entries_added} entries were added, and there are {stream.length}"
    if stream.max_deleted_id > stream.last_id:
        yield f"{_text(stream.max_deleted_id)} was deleted, above {_text(stream.last_id)}"


def _text(entry_id: EntryID) -> str:
    return format_id(entry_id).decode()


# -- groups ------------------------------------------------------------------------------------


def _of_group(group: Group) -> Iterator[str]:
    pending = dict(group.pending.items())
    yield from _of_list(group.pending, "its PEL")
    if group.entries_read < UNKNOWN:
        yield f"entries_read is {group.entries_read}"
    for entry_id, entry in pending.items():
        if entry.entry_id != entry_id:
            yield f"{_text(entry.entry_id)} is pending as {_text(entry_id)}"
        if not 0 <= entry.delivery_count <= MAX_DELIVERIES or entry.delivery_ms < 0:
            counted = f"{entry.delivery_count} times, the last at {entry.delivery_ms}"
            yield f"{_text(entry_id)} was delivered {counted}"
    released = list(group.nacked())
    owned: list[PendingEntry] = []
    for name, consumer in group.consumers.items():
        yield from _of_list(consumer.pending, f"the PEL of {name!r}")
        owned += consumer.pending.values()
        if consumer.name != name:
            yield f"consumer {consumer.name!r} is kept as {name!r}"
        if any(entry.consumer is not consumer for entry in consumer.pending.values()):
            yield f"consumer {name!r} has what is another's"
    if any(entry.consumer or entry.delivery_ms != RELEASED_MS for entry in released):
        yield "a released entry has an owner or a time"
    parts = sorted([*owned, *released], key=attrgetter("entry_id"))
    if parts != list(pending.values()):
        yield "its PEL is not what its consumers have and what was released, each once"
    if group.nacked_count != len(released):
        yield f"{group.nacked_count} entries are said to be released, and {len(released)} are"
    claimable = list(starmap(PendingEntry, group.claimable(FAR_FUTURE_MS, 0)))
    is_complete = parts == sorted(claimable, key=attrgetter("entry_id"))
    if claimable[: len(released)] != released or not is_complete:
        yield "what can be claimed is not what is pending, the released entries first"
    times_ms = [entry.delivery_ms for entry in claimable[len(released) :]]
    if times_ms != sorted(times_ms):
        yield "the oldest delivery is not claimable first"


def _of_progress(stream: Stream, group: Group) -> Iterator[str]:
    left = lag(stream, group)
    if group.entries_read > stream.entries_added:
        yield f"{group.entries_read} entries were read, and {stream.entries_added} added"
    if left is not None and not 0 <= left <= stream.entries_added:
        yield f"its lag is {left}, and {stream.entries_added} entries were added"


def _of_list(index: PendingList | ConsumerPending, what: str) -> Iterator[str]:
    keys = list(index)
    if len(keys) != len(index) or any(low >= high for low, high in pairwise(keys)):
        yield f"{what} counts {len(index)} entries and lists {len(keys)}, or not in order"
    if any(key not in index for key in keys):
        yield f"{what} does not find what it lists"


# -- idempotent producing ----------------------------------------------------------------------


def _of_memory(memory: Idempotence) -> Iterator[str]:
    counts = [len(messages) for messages in memory.producers.values()]
    if memory.iids_tracked != sum(counts):
        yield f"{memory.iids_tracked} messages are tracked, and {sum(counts)} are there"
    if counts and not 1 <= min(counts) <= max(counts) <= memory.maxsize:
        yield f"a producer has none or more than {memory.maxsize} messages"
