"""XPENDING (reference 1.9): what a group was given and has not acknowledged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from commands.arguments import parse_int
from commands.client import Client
from commands.long_reply import LongReply
from commands.registry import READONLY, Argv, command, one_key
from commands.streams.ids import id_bulk, parse_range_end, parse_range_start
from commands.streams.lookup import find_group
from protocol import errors, replies
from protocol.errors import ReplyError
from storage.entry_id import MAX_SEQ, SEQ_BITS, EntryID
from storage.group import Consumer, Group
from storage.own_pending import OwnPending
from storage.pending_block import Columns, Row
from storage.pending_list import PendingList

NOT_OWNED = -1  # the idle time of an entry that was released

# To look at so many entries takes some milliseconds; for more of them the reply comes in pieces.
MANY_ENTRIES = 4000


@dataclass(slots=True)
class PendingQuery:
    """The extended form, parsed."""

    min_idle_ms: int
    start: EntryID
    end: EntryID
    count: int
    consumer: bytes | None  # None: of all consumers


@command(
    "XPENDING",
    arity=-3,
    flags=READONLY,
    keys=one_key(b"RO", b"ACCESS"),
    group="stream",
    since="5.0.0",
    summary="Returns a summary or a list of the entries that are pending in a group.",
    syntax="key group [[IDLE min-idle-time] start end count [consumer]]",
    complexity="O(N) with N the entries looked at; the summary: the number of consumers.",
    history=(("6.2.0", "Added the `IDLE` option and exclusive ranges."),),
    tips=(b"nondeterministic_output",),
)
def xpending(client: Client, argv: Argv) -> bytes | LongReply:
    """Short form: total, smallest ID, greatest ID, consumers with their counts (as text).

    Extended form: array of ID, consumer, idle time in ms, number of deliveries. An entry without
    owner has the consumer "" and the idle time -1. Source: Redis 8.8.
    """
    query = _parse_query(argv)
    _, group = find_group(client, argv[1], argv[2])
    if query is None:
        return _summary(group, client.resp)
    return _list(group, query, client.instance.now_ms)


def _parse_query(argv: Argv) -> PendingQuery | None:
    """The extended form's arguments, None for the short form. Raises ReplyError.

    The order of checks is Redis's, and so is that a word behind the consumer is ignored where
    IDLE would have had room.
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
        nil = replies.NIL[resp]
        return replies.array([replies.ZERO, nil, nil, replies.NIL_ARRAY[resp]])
    consumers = [
        replies.bulk_array([name, b"%d" % len(group.consumers[name].pending)])
        for name in sorted(group.consumers)
        if group.consumers[name].pending
    ]
    total = replies.integer(len(group.pending))
    return replies.array([total, id_bulk(first), id_bulk(last), replies.array(consumers)])


def _list(group: Group, query: PendingQuery, now_ms: int) -> bytes | LongReply:
    pending: PendingList | OwnPending = group.pending
    owner = None
    if query.consumer is not None:
        owner = group.consumers.get(query.consumer)
        if owner is None:
            return replies.EMPTY_ARRAY
        pending = owner.pending
    if query.count == 0:
        return replies.EMPTY_ARRAY
    if len(pending) > MANY_ENTRIES and (query.count > MANY_ENTRIES or query.min_idle_ms > 0):
        blocks = pending.lend(query.start, query.end)
        return LongReply(_list_in_pieces(blocks, owner, query, now_ms))
    return replies.array(_render(pending.rows_from(query.start), query, now_ms, query.count))


def _list_in_pieces(
    blocks: list[Columns], owner: Consumer | None, query: PendingQuery, now_ms: int
) -> Iterator[bytes]:
    """The list from blocks of entries as they were at one moment.

    `owner`: of whose entries. Nothing is sent before all were looked at and counted.
    """
    count = 0
    pieces: list[bytes] = []
    for columns in blocks:
        rows: Iterator[Row] = zip(*columns, strict=True)
        # Only the first block can begin before the range.
        rows = (row for row in rows if row[0] >= query.start)
        if owner is not None:
            rows = (row for row in rows if row[1] is owner)
        found = _render(rows, query, now_ms, query.count - count)
        count += len(found)
        pieces.append(b"".join(found))
        yield b""
        if count == query.count:
            break
    yield replies.array_header(count)
    yield from pieces


def _render(rows: Iterable[Row], query: PendingQuery, now_ms: int, count: int) -> list[bytes]:
    """The first `count` entries that the query asks for, encoded. `rows` begin in its range."""
    found: list[bytes] = []
    for entry_id, owner, delivery_ms, delivery_count in rows:
        if entry_id > query.end:
            break
        # What was released (XNACK) has no owner and no age, and is old enough for any query.
        name, idle_ms = b"", NOT_OWNED
        if owner is not None:
            name, idle_ms = owner.name, now_ms - delivery_ms if delivery_ms < now_ms else 0
            if idle_ms < query.min_idle_ms:
                continue
        text = b"%d-%d" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)
        found.append(
            b"*4\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n:%d\r\n:%d\r\n"
            % (len(text), text, len(name), name, idle_ms, delivery_count)
        )
        if len(found) == count:
            break
    return found
