"""What a group was given and has not acknowledged: XACK, XACKDEL and XPENDING (Redis 7.4).

Also the rows of XINFO for groups and for consumers, of which there may be thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import cython

from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, WRITE, command, one_key
from commands.streams.delete import (
    DELETED,
    NOT_FOUND,
    STILL_REFERENCED,
    entries_deleted,
    parse_deletion,
    pending_by_group,
    result_array,
)
from commands.streams.groups.ack_journal import pending_entries, write_down
from commands.streams.groups.delivery import group_changed, propagate_removals
from commands.streams.ids import (
    ascending,
    id_bulk,
    parse_range_end,
    parse_range_start,
    parse_strict,
)
from commands.streams.lookup import find_group
from commands.streams.policies.retention import acknowledged as policy_acknowledged
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.replies import EMPTY_ARRAY, NIL, NIL_ARRAY, ZERO, Form
from protocol.request import Request
from storage.append_only.request_writer import RequestWriter
from storage.entries.entry_id import EntryID, EntryIDs
from storage.groups.group import NEVER, UNKNOWN, Consumer, Group, References
from storage.groups.pending_block import (
    LARGE_COUNT,
    ROW_BYTES,
    Block,
    Columns,
    ConsumerPending,
    Owner,
    Row,
)
from storage.groups.pending_list import PendingList
from storage.stream import Stream, lag

if TYPE_CHECKING:
    pass

# Of the request that is executed.
_IDS = EntryIDs()


@command("XACK", arity=-4, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def xack(client: Client, request: Request) -> bytes:
    """Integer: the number of entries that were pending.

    Without the key or the group that is 0, whatever the IDs are. Source: Redis 7.4.
    """
    key = request.word(1)
    stream: Stream | None = client.lookup_stream(key)
    group: Group | None = None if stream is None else stream.groups.get(request.word(2))
    if stream is None or group is None:
        return ZERO
    ids: EntryIDs = _IDS
    ids.clear()
    index: cython.Py_ssize_t
    for index in range(3, request.count):
        if not ids.add_plain(request.word(index)):
            ids.add(parse_strict(request.word(index)))
    journal = stream.ack_journal
    written_down = [] if journal is None else pending_entries(client, group, ids)
    acknowledged: cython.Py_ssize_t = group.acknowledge_all(ids)
    if acknowledged:
        group_changed(client, key, acknowledged)
        if stream.policy is not None and stream.policy.retention is not None:
            policy_acknowledged(client, key, stream)
        if group.policy is not None and group.policy.wakes:
            client.signal_key_as_ready(key)
    if journal is not None:
        write_down(client, request, group, journal, written_down)
    return replies.integer(acknowledged)


@command("XACKDEL", arity=-6, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE", b"DELETE"))
def xackdel(client: Client, argv: Request) -> bytes:
    """Array of integers, one for each ID: 1 acknowledged and deleted, -1 not pending, 2
    acknowledged but kept because of another group.

    All are -1 without the key or the group. Source: Redis 8.10.
    """
    key = argv[1]
    references, ids = parse_deletion(argv, 3)
    stream: Stream | None = client.lookup_stream_for_write(key)
    group = None if stream is None else stream.groups.get(argv[2])
    if stream is None or group is None:
        return result_array([NOT_FOUND] * len(ids))
    journal = stream.ack_journal
    written_down = [] if journal is None else pending_entries(client, group, ids)
    ordered = ascending(ids)
    pending = group.pending.among(ordered)
    acknowledged = [entry_id for entry_id in ordered if entry_id in pending]
    stream.unpack(acknowledged)
    changes = group.acknowledge_all(EntryIDs.of(acknowledged))
    chosen = acknowledged
    if references is References.ACKED:
        chosen = stream.unreferenced(acknowledged)
    deleted = stream.delete_all(chosen)
    elsewhere = pending_by_group(client, stream, acknowledged, references)
    propagate_removals(client, key, elsewhere | {argv[2]: acknowledged}, deleted)
    if references is References.DELETE:
        changes += stream.drop_references(acknowledged)
    if changes:
        group_changed(client, key, changes)
        if stream.policy is not None:
            policy_acknowledged(client, key, stream)
        if group.policy is not None and group.policy.wakes:
            client.signal_key_as_ready(key)
    entries_deleted(client, key, stream, len(deleted), deleted)
    if journal is not None:
        write_down(client, argv, group, journal, written_down)
    return result_array(_results(ids, pending, set(chosen)))


def _results(ids: list[EntryID], acknowledged: set[EntryID], gone: set[EntryID]) -> list[int]:
    """Return the result for each ID. For a repeated ID only the first counts as acknowledged."""
    results: list[int] = []
    for entry_id in ids:
        if entry_id in acknowledged:
            acknowledged.remove(entry_id)
            results.append(DELETED if entry_id in gone else STILL_REFERENCED)
        else:
            results.append(NOT_FOUND)
    return results


# -- XPENDING ----------------------------------------------------------------------------------


if not cython.compiled:
    # Compiled, it returns a pointer, and the module's C types import it.
    from storage.groups.pending_block import _numbers

# Where the time and the state are in a row.
_ROW_WORDS: cython.Py_ssize_t = ROW_BYTES // 8
_TIME: cython.Py_ssize_t = ROW_BYTES // 8 - 2
_STATE: cython.Py_ssize_t = ROW_BYTES // 8 - 1

NOT_OWNED = -1  # the idle time of an entry that was released

_NO_LIMIT = 2**62

# Listing this many entries takes some milliseconds; a longer reply is sent in pieces.
MANY_ENTRIES = 4000


@record
class PendingQuery:
    """The extended form, parsed."""

    min_idle_ms: int
    start: EntryID
    end: EntryID
    count: int
    consumer: bytes | None  # None: of all consumers


@command("XPENDING", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def xpending(client: Client, argv: Request) -> bytes | LongReply:
    """Short form: total, smallest ID, greatest ID, consumers with their counts (as text).

    Extended form: array of ID, consumer, idle time in ms, number of deliveries. An entry without
    owner has the consumer "" and the idle time -1. Source: Redis 8.8.
    """
    query = _parse_query(argv)
    _, group = find_group(client, argv[1], argv[2])
    if query is None:
        return _summary(group, client.resp)
    return _list(group, query, client.instance.now_ms)


def _parse_query(argv: Request) -> PendingQuery | None:
    """The extended form's arguments, None for the short form. Raises ReplyError.

    The order of checks is Redis's, and so is that a word after the consumer is ignored where IDLE
    would have had room.
    """
    if len(argv) == 3:
        return None
    if not 6 <= len(argv) <= 9:
        raise ReplyError(errors.SYNTAX)
    min_idle_ms, position = 0, 3
    if argv[3].upper() == b"IDLE":
        min_idle_ms = parse_int(argv[4])
        if len(argv) < 8:
            raise ReplyError(errors.SYNTAX)
        position = 5
    count = max(parse_int(argv[position + 2]), 0)
    start = parse_range_start(argv[position])
    end = parse_range_end(argv[position + 1])
    consumer = argv[position + 3] if len(argv) > position + 3 else None
    return PendingQuery(min_idle_ms, start, end, count, consumer)


def _summary(group: Group, resp: int) -> bytes:
    first, last = group.pending.first_key(), group.pending.last_key()
    if first is None or last is None:
        nil = NIL[resp]
        return replies.array([ZERO, nil, nil, NIL_ARRAY[resp]])
    writer = RequestWriter()
    owners: cython.Py_ssize_t = 0
    for name in sorted(group.consumers):
        count: cython.long = group.consumers[name].pending_count
        if count:
            owners += 1
            writer.begin(2)
            writer.word(name)
            writer.number(count)
    consumers = replies.array_header(owners) + writer.take(writer.end)
    total = replies.integer(len(group.pending))
    return replies.array([total, id_bulk(first), id_bulk(last), consumers])


def _list(group: Group, query: PendingQuery, now_ms: int) -> bytes | LongReply:
    pending: PendingList | ConsumerPending = group.pending
    owner = None
    if query.consumer is not None:
        owner = group.consumers.get(query.consumer)
        if owner is None:
            return EMPTY_ARRAY
        pending = owner.pending
    if query.count == 0:
        return EMPTY_ARRAY
    if query.min_idle_ms > 0 and not group.has_idle(now_ms - query.min_idle_ms):
        return EMPTY_ARRAY  # what an alert asks for: no look at each entry
    if len(pending) > MANY_ENTRIES and (query.count > MANY_ENTRIES or query.min_idle_ms > 0):
        blocks = pending.lend(query.start, query.end)
        return LongReply(_list_in_pieces(blocks, owner, query, now_ms))
    rendered = Rendered(query, now_ms)
    for block in pending.blocks_from(query.start):
        if not rendered.add_block(block, block.place_of(query.start), owner):
            break
    return replies.array_header(rendered.count) + rendered.take()


def _list_in_pieces(
    blocks: Iterator[Columns], owner: Owner | None, query: PendingQuery, now_ms: int
) -> Iterator[bytes]:
    """The list from blocks of entries as they were at one moment.

    `owner`: of whose entries. Nothing is sent before all were looked at and counted.
    """
    rendered = Rendered(query, now_ms)
    pieces: list[bytes] = []
    for columns in blocks:
        rows: Iterator[Row] = zip(*columns, strict=True)
        # Only the first block can begin before the range.
        rows = (row for row in rows if row[0] >= query.start)
        if owner is not None:
            rows = (row for row in rows if row[1] is owner)
        rendered.add(rows)
        pieces.append(rendered.take())
        yield b""
        if rendered.count == query.count:
            break
    yield replies.array_header(rendered.count)
    yield from pieces


@cython.cclass
class Rendered:
    """The entries that a query asks for, encoded: how many they are, and the bytes of the last."""

    __slots__ = ("_end", "_now_ms", "_query", "_writer", "count")

    def __init__(self, query: PendingQuery, now_ms: int) -> None:
        self._query = query
        self._end = query.end
        self._now_ms = now_ms
        self._writer = RequestWriter()
        self.count = 0

    def take(self) -> bytes:
        """The entries that were added since the last call."""
        return self._writer.take(self._writer.end)

    def add_block(
        self, block: Block, place: cython.Py_ssize_t, of_owner: Owner | None
    ) -> cython.bint:
        """Add those of the entries from a place on that are asked for; False if that is the end.

        `of_owner`: of whose entries. Entries that were delivered together differ in their IDs only.
        """
        words: cython.p_ulonglong = _numbers(block)
        writer: RequestWriter = self._writer
        at: cython.Py_ssize_t = place * _ROW_WORDS
        end: cython.Py_ssize_t = len(block.words)
        wanted: cython.long = min(self._query.count - self.count, _NO_LIMIT)
        state: cython.ulonglong = 0
        time_ms: cython.ulonglong = 0
        is_known: cython.bint = False
        rest: bytes | None = None
        while at < end:
            entry_id = block.id_at(at // _ROW_WORDS)
            if entry_id > self._end:
                return False
            if not is_known or words[at + _STATE] != state or words[at + _TIME] != time_ms:
                state, time_ms = words[at + _STATE], words[at + _TIME]
                place = at // _ROW_WORDS
                _, owner, delivery_ms, deliveries = block.rows(place, place + 1)[0]
                rest = self._rest(owner, delivery_ms, deliveries)
                if of_owner is not None and owner is not of_owner:
                    rest = None
                is_known = deliveries < LARGE_COUNT  # it is in the state
            at += _ROW_WORDS
            if rest is None:
                continue
            writer.encoded(b"*4\r\n")
            writer.entry_id(entry_id)
            writer.encoded(rest)
            self.count += 1
            wanted -= 1
            if wanted == 0:
                return False
        return True

    def _rest(self, owner: Owner | None, time_ms: int, deliveries: int) -> bytes | None:
        """What follows an ID; None if the entry is not old enough.

        What was released (XNACK) has no owner and no age, and is old enough for all.
        """
        name, idle_ms = b"", NOT_OWNED
        if owner is not None:
            name, idle_ms = owner.name, max(self._now_ms - time_ms, 0)
            if idle_ms < self._query.min_idle_ms:
                return None
        return b"$%d\r\n%b\r\n:%d\r\n:%d\r\n" % (len(name), name, idle_ms, deliveries)

    def add(self, rows: Iterable[Row]) -> None:
        """Add those of the entries that are asked for. `rows` begin in the range of the query."""
        query, count = self._query, self.count
        writer: RequestWriter = self._writer
        last_time_ms, last_count = -1, -1
        last_owner: Owner | None = None
        rest: bytes | None = b""
        for entry_id, owner, time_ms, deliveries in rows:
            if entry_id > query.end:
                break
            if time_ms != last_time_ms or owner is not last_owner or deliveries != last_count:
                last_owner, last_time_ms, last_count = owner, time_ms, deliveries
                rest = self._rest(owner, time_ms, deliveries)
            if rest is None:
                continue
            writer.encoded(b"*4\r\n")
            writer.entry_id(entry_id)
            writer.encoded(rest)
            count += 1
            if count == query.count:
                break
        self.count = count


# -- groups and consumers ----------------------------------------------------------------------


_WRITER = RequestWriter()


def _position(stream: Stream, group: Group, nil: bytes) -> tuple[bytes, ...]:
    """The last delivered ID, the number of entries read and the lag of a group, encoded."""
    writer: RequestWriter = _WRITER
    writer.entry_id(group.last_delivered_id)
    behind = lag(stream, group)
    return (
        writer.take(writer.end),
        nil if group.entries_read == UNKNOWN else replies.integer(group.entries_read),
        nil if behind is None else replies.integer(behind),
    )


def group_row(stream: Stream, group: Group, form: Form, nil: bytes) -> bytes:
    """A row of XINFO GROUPS: name, numbers of consumers and pending entries, and `_position`."""
    name: bytes = group.name
    last, read, behind = _position(stream, group, nil)
    pending: cython.Py_ssize_t = group.pending.length
    return form.fill((len(name), name, len(group.consumers), pending, last, read, behind))


def full_group_row(
    stream: Stream, group: Group, form: Form, nil: bytes, count: cython.long
) -> bytes:
    """A group in XINFO STREAM FULL, up to the number of pending entries that follow.

    Name, `_position`, numbers of pending and of released entries, and the number of which are shown
    if `count` are wanted (0: all).
    """
    name: bytes = group.name
    last, read, behind = _position(stream, group, nil)
    pending: cython.long = group.pending.length
    shown: cython.long = min(pending, count) if count else pending
    released: cython.long = group.nacked_count
    return form.fill((len(name), name, last, read, behind, pending, released, shown))


def consumer_rows(group: Group, form: Form, now_ms: cython.long) -> list[bytes]:
    """The rows of XINFO CONSUMERS, by name: name, number of pending entries, idle, inactive."""
    rows: list[bytes] = []
    for name in sorted(group.consumers):
        consumer: Consumer = group.consumers[name]
        idle_ms: cython.long = max(now_ms - consumer.seen_ms, 0)
        inactive_ms: cython.long = max(now_ms - consumer.active_ms, 0)
        if consumer.active_ms < 0:
            inactive_ms = NEVER
        pending: cython.long = consumer.pending_count
        rows.append(form.fill((len(name), name, pending, idle_ms, inactive_ms)))
    return rows


def full_consumer_rows(
    group: Group, form: Form, count: cython.long
) -> list[tuple[bytes, Consumer | None]]:
    """The rows of XINFO STREAM FULL, by name, each time up to one that has pending entries.

    These follow there: the first `count` (0: all). Last comes what is left, without a consumer.
    """
    parts: list[tuple[bytes, Consumer | None]] = []
    rows: list[bytes] = []
    for name in sorted(group.consumers):
        consumer: Consumer = group.consumers[name]
        pending: cython.long = consumer.pending_count
        shown: cython.long = min(pending, count) if count else pending
        seen_ms: cython.long = consumer.seen_ms
        active_ms: cython.long = consumer.active_ms
        rows.append(form.fill((len(name), name, seen_ms, active_ms, pending, shown)))
        if pending:
            parts.append((b"".join(rows), consumer))
            rows = []
    parts.append((b"".join(rows), None))
    return parts
