"""XINFO: the state of a stream, its groups and their consumers (Redis 7.4).

The order of fields is Redis's; clients of RESP2 see it.

A long list of XINFO STREAM FULL (COUNT 0 asks for all) is built and sent in pieces
(commands/core/long_reply.py). All pieces show the same moment: entries come from a snapshot of the
stream, pending ones from blocks that are copied before they change (copy on write).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import LOADING, READONLY, STALE, command, one_key
from commands.documentation import help_reply
from commands.streams.groups.pending import (
    consumer_rows,
    full_consumer_rows,
    full_group_row,
    group_row,
)
from commands.streams.ids import id_bulk
from commands.streams.lookup import group_of
from commands.streams.ranges import LongRange, Part, is_long, long_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, SEQ_BITS
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import LentBlock, Owner, Row
from storage.idempotence import Idempotence
from storage.stream import Stream

# Listing this many pending entries takes some milliseconds; a longer reply is sent in pieces.
MANY_PENDING = 4000

# What an entry begins with, by the length of its ID, which is two numbers of up to 20 digits.
_OF_GROUP = [b"*4\r\n$%d\r\n" % length for length in range(42)]
_OF_CONSUMER = [b"*3\r\n$%d\r\n" % length for length in range(42)]


def is_long_info(stream: Stream, count: int) -> bool:
    """Return True if a reply with `count` (0: all) entries of the stream and each PEL is long."""
    if is_long(stream, MIN_ID, MAX_ID, count or -1):
        return True
    listed = sum(limited(len(group.pending), count) for group in stream.groups.values())
    return listed > MANY_PENDING


def limited(length: int, count: int) -> int:
    """The number of items of a list of `length` that are shown; `count` 0: all."""
    return min(length, count) if count else length


def entries_part(stream: Stream, count: int) -> Part:
    """The first `count` entries of the stream (0: all), as an array."""
    if is_long(stream, MIN_ID, MAX_ID, count or -1):
        return LongRange(stream.snapshot(MIN_ID, MAX_ID, count or -1))
    length, chunks = stream.range(MIN_ID, MAX_ID, count or -1)
    return b"".join([replies.array_header(length), *chunks])


class Listing:
    """The first `count` pending entries (0: all) of a group and of its consumers, encoded."""

    def __init__(self, group: Group, count: int) -> None:
        self._group = group
        self._limit = count or None

    def of_group(self) -> Part:
        """The group's pending entries."""
        return _of_group(islice(self._group.pending.rows_from(MIN_ID), self._limit))

    def of_consumer(self, consumer: Consumer) -> Part:
        """One consumer's pending entries."""
        return _of_consumer(islice(consumer.pending.rows_from(MIN_ID), self._limit))


class ListingInPieces(Listing):
    """`Listing` a block at a time. The list of the group must be made before those of consumers."""

    def __init__(self, group: Group, count: int) -> None:
        super().__init__(group, count)
        self._blocks = group.pending.lend_blocks(MIN_ID, MAX_ID)
        self._by_owner: dict[Owner | None, list[LentBlock]] = {}

    def of_group(self) -> Part:
        """The group's pending entries; also notes which consumers have entries in which blocks."""
        return self._group_pieces()

    def _group_pieces(self) -> Iterator[bytes]:
        left = self._limit
        for block in self._blocks:
            columns = block.columns()
            for owner in set(columns[1]):
                self._by_owner.setdefault(owner, []).append(block)
            rows = list(islice(zip(*columns, strict=True), left))
            if left is not None:
                left -= len(rows)
            yield _of_group(rows)
        self._blocks = []

    def of_consumer(self, consumer: Consumer) -> Part:
        """One consumer's pending entries."""
        return self._consumer_pieces(consumer)

    def _consumer_pieces(self, consumer: Consumer) -> Iterator[bytes]:
        left = self._limit
        for block in self._by_owner.pop(consumer, ()):
            owned = (row for row in zip(*block.columns(), strict=True) if row[1] is consumer)
            rows = list(islice(owned, left))
            if left is not None:
                left -= len(rows)
            yield _of_consumer(rows)


def _of_group(rows: Iterable[Row]) -> bytes:
    """ID, owner (empty if there is none), delivery time and count of each entry."""
    pieces: list[bytes] = []
    last: tuple[Owner | None, int, int] | None = None
    rest = b""
    for entry_id, owner, time_ms, deliveries in rows:
        if last != (owner, time_ms, deliveries):
            last = owner, time_ms, deliveries
            name = b"" if owner is None else owner.name
            rest = b"\r\n%b:%d\r\n:%d\r\n" % (replies.bulk(name), time_ms, deliveries)
        text = b"%d-%d" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)
        pieces += (_OF_GROUP[len(text)], text, rest)
    return b"".join(pieces)


def _of_consumer(rows: Iterable[Row]) -> bytes:
    """ID, delivery time and count of each."""
    pieces: list[bytes] = []
    last_ms, last_count, rest = -1, -1, b""
    for entry_id, _, time_ms, deliveries in rows:
        if time_ms != last_ms or deliveries != last_count:
            last_ms, last_count = time_ms, deliveries
            rest = b"\r\n:%d\r\n:%d\r\n" % (time_ms, deliveries)
        text = b"%d-%d" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)
        pieces += (_OF_CONSUMER[len(text)], text, rest)
    return b"".join(pieces)


def map_parts(resp: int, values: dict[str, Part | list[Part]]) -> list[Part]:
    """A map from field names, with - for _, to values in parts."""
    parts: list[Part] = [replies.map_header(len(values), resp)]
    for name, value in values.items():
        parts.append(replies.bulk(name.replace("_", "-").encode()))
        parts += value if isinstance(value, list) else [value]
    return parts


def reply_of(parts: list[Part], *, in_pieces: bool) -> bytes | LongReply:
    """The whole reply, at once or in pieces."""
    reply = long_reply(parts)
    return reply if in_pieces else reply.join()


# -- XINFO -------------------------------------------------------------------------------------


T = TypeVar("T")

DEFAULT_FULL_COUNT = 10


def _forms(pairs: int, text: bytes) -> dict[int, replies.Form]:
    """The form of a map with a number of pairs, and this text, in each RESP version."""
    heads = {resp: replies.map_header(pairs, resp).replace(b"%", b"%%") for resp in (2, 3)}
    return {resp: replies.Form(head + text) for resp, head in heads.items()}


# A consumer's map: name, pending, idle, inactive.
_CONSUMER = _forms(
    4,
    b"$4\r\nname\r\n$%d\r\n%b\r\n$7\r\npending\r\n:%d\r\n"
    b"$4\r\nidle\r\n:%d\r\n$8\r\ninactive\r\n:%d\r\n",
)
# In the full form: name, seen-time, active-time, pel-count, and the header of what is pending.
_FULL_CONSUMER = _forms(
    5,
    b"$4\r\nname\r\n$%d\r\n%b\r\n$9\r\nseen-time\r\n:%d\r\n$11\r\nactive-time\r\n:%d\r\n"
    b"$9\r\npel-count\r\n:%d\r\n$7\r\npending\r\n*%d\r\n",
)
# A group's: name, consumers, pending, last-delivered-id, entries-read, lag.
_GROUP = _forms(
    6,
    b"$4\r\nname\r\n$%d\r\n%b\r\n$9\r\nconsumers\r\n:%d\r\n$7\r\npending\r\n:%d\r\n"
    b"$17\r\nlast-delivered-id\r\n%b$12\r\nentries-read\r\n%b$3\r\nlag\r\n%b",
)
# In the full form, up to the header of what is pending.
_FULL_GROUP = _forms(
    8,
    b"$4\r\nname\r\n$%d\r\n%b\r\n$17\r\nlast-delivered-id\r\n%b"
    b"$12\r\nentries-read\r\n%b$3\r\nlag\r\n%b$9\r\npel-count\r\n:%d\r\n"
    b"$12\r\nnacked-count\r\n:%d\r\n$7\r\npending\r\n*%d\r\n",
)
_NO_CONSUMERS = b"$9\r\nconsumers\r\n*0\r\n"

# Redis's lines to the letter: tutorials on streams print them.
HELP = (
    b"CONSUMERS <key> <groupname>",
    b"    Show consumers of <groupname>.",
    b"GROUPS <key>",
    b"    Show the stream consumer groups.",
    b"STREAM <key> [FULL [COUNT <count>]",
    b"    Show information about the stream.",
)


def _stream_at(client: Client, key: bytes) -> Stream:
    """The stream to describe. Raises WRONGTYPE, or that there is no key."""
    stream: Stream | None = client.lookup_stream(key)
    if stream is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    return stream


def _fields(resp: int, **values: bytes) -> bytes:
    """A map from field names, with - for _, to encoded values."""
    items: list[bytes] = []
    for name, value in values.items():
        items += (replies.bulk(name.replace("_", "-").encode()), value)
    return replies.mapping(items, resp)


def _by_name(table: dict[bytes, T]) -> list[T]:
    """Groups and consumers in the order in which Redis lists them."""
    return [table[name] for name in sorted(table)]


# -- XINFO STREAM ------------------------------------------------------------------------------


@command("XINFO STREAM", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS", at=2))
def xinfo_stream(client: Client, argv: Request) -> bytes | LongReply:
    """Map. Source: Redis 8.8."""
    stream = _stream_at(client, argv[2])
    count = _parse_full(argv)
    resp = client.resp
    summary = {
        "length": replies.integer(stream.length),
        "radix_tree_keys": replies.integer(stream.node_count),
        "radix_tree_nodes": replies.integer(stream.radix_node_count()),
        "last_generated_id": id_bulk(stream.last_id),
        "max_deleted_entry_id": id_bulk(stream.max_deleted_id),
        "entries_added": replies.integer(stream.entries_added),
        "recorded_first_entry_id": id_bulk(stream.first_id),
        **_idempotence_fields(stream.idempotence or Idempotence()),
    }
    if count is None:
        return _fields(
            resp,
            **summary,
            groups=replies.integer(len(stream.groups)),
            first_entry=stream.first_entry() or replies.NIL[resp],
            last_entry=stream.last_entry() or replies.NIL[resp],
        )
    return _full(stream, summary, count, resp)


def _full(stream: Stream, summary: dict[str, bytes], count: int, resp: int) -> bytes | LongReply:
    """The full form; COUNT is `count`."""
    in_pieces = is_long_info(stream, count)
    groups: list[Part] = [replies.array_header(len(stream.groups))]
    for group in _by_name(stream.groups):
        groups += _full_group(stream, group, count, resp, in_pieces=in_pieces)
    values: dict[str, Part | list[Part]] = {
        **summary,
        "entries": entries_part(stream, count),
        "groups": groups,
    }
    return reply_of(map_parts(resp, values), in_pieces=in_pieces)


def _idempotence_fields(idempotence: Idempotence) -> dict[str, bytes]:
    """The fields on idempotent producers."""
    return {
        "idmp_duration": replies.integer(idempotence.duration_s),
        "idmp_maxsize": replies.integer(idempotence.maxsize),
        "pids_tracked": replies.integer(idempotence.pids_tracked),
        "iids_tracked": replies.integer(idempotence.iids_tracked),
        "iids_added": replies.integer(idempotence.added),
        "iids_duplicates": replies.integer(idempotence.duplicates),
    }


def _parse_full(argv: Request) -> int | None:
    """COUNT of the full form, 0 for all; None for the short form. Raises ReplyError."""
    if len(argv) == 3:
        return None
    if len(argv) not in (4, 6) or argv[3].upper() != b"FULL":
        raise errors.subcommand_syntax(b"XINFO", argv[1])
    if len(argv) == 4:
        return DEFAULT_FULL_COUNT
    if argv[4].upper() != b"COUNT":
        raise errors.subcommand_syntax(b"XINFO", argv[1])
    count = parse_int(argv[5])
    return count if count >= 0 else DEFAULT_FULL_COUNT


def _full_group(
    stream: Stream, group: Group, count: int, resp: int, *, in_pieces: bool
) -> list[Part]:
    head = full_group_row(stream, group, _FULL_GROUP[resp], replies.NIL[resp], count)
    if not group.consumers and not group.pending.length:
        return [head + _NO_CONSUMERS]
    consumers = b"$9\r\nconsumers\r\n" + replies.array_header(len(group.consumers))
    rows = full_consumer_rows(group, _FULL_CONSUMER[resp], count)
    if not group.pending.length:
        return [head + consumers + rows[0][0]]
    listing = ListingInPieces(group, count) if in_pieces else Listing(group, count)
    parts: list[Part] = [head, listing.of_group(), consumers]
    for row, consumer in rows:
        parts.append(row)
        if consumer is not None:
            parts.append(listing.of_consumer(consumer))
    return parts


# -- XINFO GROUPS and CONSUMERS ----------------------------------------------------------------


@command("XINFO GROUPS", arity=3, flags=READONLY, keys=one_key(b"RO", b"ACCESS", at=2))
def xinfo_groups(client: Client, argv: Request) -> bytes:
    """Array of maps, by name. Source: Redis 7.4."""
    stream = _stream_at(client, argv[2])
    resp = client.resp
    form, nil, groups = _GROUP[resp], replies.NIL[resp], stream.groups
    return replies.array([group_row(stream, groups[name], form, nil) for name in sorted(groups)])


@command("XINFO CONSUMERS", arity=4, flags=READONLY, keys=one_key(b"RO", b"ACCESS", at=2))
def xinfo_consumers(client: Client, argv: Request) -> bytes:
    """Array of maps, by name; times in ms. Source: Redis 7.4."""
    group = group_of(_stream_at(client, argv[2]), argv[2], argv[3])
    return replies.array(consumer_rows(group, _CONSUMER[client.resp], client.instance.now_ms))


@command("XINFO HELP", arity=2, flags=LOADING | STALE)
def xinfo_help(client: Client, argv: Request) -> bytes:
    """Array of simple strings."""
    return help_reply(b"XINFO", *HELP)
