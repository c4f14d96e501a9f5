"""HGET, HMGET, HGETALL, HKEYS, HVALS, HLEN, HEXISTS and HSTRLEN."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, command, one_key
from commands.hashes.lookup import read_fields, remove_named, time_for
from protocol import replies
from protocol.request import Request
from storage.types.hashes import HashValue
from storage.types.key_part import KEYS, VALUES
from storage.types.records import field_of, pair_bulks, value_of

# A reply with this many fields takes about a millisecond; a longer one is made in pieces.
MANY_FIELDS = 4000
FIELDS_PER_PIECE = 1000


@command("HGET", arity=3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def hget(client: Client, argv: Request) -> bytes:
    """Bulk string, or null. Source: Redis 7.0."""
    value: HashValue | None = client.lookup_typed(argv.word(1), HashValue)
    if value is not None and value.expires is not None:
        value = remove_named(client, argv.word(1), value, argv[2:])
    reply: bytes | None = None if value is None else value.value_bulk(argv.word(2))
    if reply is None:
        reply = replies.NIL[client.resp]
    argv.mark_quick(len(reply))
    return reply


@command("HMGET", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def hmget(client: Client, argv: Request) -> bytes:
    """Array of bulk strings and nulls. Source: Redis 7.0."""
    names = argv[2:]
    return values_reply(client, read_fields(client, argv[1], names), names)


def values_reply(client: Client, value: HashValue | None, names: list[bytes]) -> bytes:
    """The values of fields, null for those that are not there."""
    if value is None:
        return replies.array([replies.NIL[client.resp]] * len(names))
    nil = replies.NIL[client.resp]
    found = [value.value_bulk(name) for name in names]
    return replies.array([nil if one is None else one for one in found])


@command("HGETALL", arity=2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def hgetall(client: Client, argv: Request) -> bytes | LongReply:
    """Map of bulk strings. Source: Redis 7.0."""
    value: HashValue | None = client.lookup_typed(argv.word(1), HashValue)
    if value is None:
        return replies.map_header(0, client.resp)
    if value.expires is not None:
        records = value.records(time_for(client))
        header = replies.map_header(len(records), client.resp)
        if len(records) > MANY_FIELDS:
            return LongReply(_pairs_in_pieces(header, records))
        return pair_bulks(header, records)
    header = replies.map_header(len(value), client.resp)
    if len(value) > MANY_FIELDS:
        twin = value.copy()
        return LongReply(chain((header,), twin.bulk_pieces(KEYS + VALUES)), twin.release)
    reply = value.bulks(header, KEYS + VALUES)
    argv.mark_quick(len(reply))
    return reply


def _pairs_in_pieces(header: bytes, records: list[bytes]) -> Iterator[bytes]:
    yield header
    for start in range(0, len(records), FIELDS_PER_PIECE):
        yield pair_bulks(b"", records[start : start + FIELDS_PER_PIECE])


@command("HKEYS", arity=2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def hkeys(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings. Source: Redis 7.0."""
    return _part(client, argv[1], KEYS)


@command("HVALS", arity=2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def hvals(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings. Source: Redis 7.0."""
    return _part(client, argv[1], VALUES)


def _part(client: Client, key: bytes, parts: int) -> bytes | LongReply:
    """All fields (KEYS) or VALUES."""
    value = client.lookup_typed(key, HashValue)
    if value is None:
        return replies.EMPTY_ARRAY
    if value.expires is not None:
        records = value.records(time_for(client))
        return _bulks(list(map(field_of, records) if parts == KEYS else map(value_of, records)))
    header = replies.array_header(len(value))
    if len(value) > MANY_FIELDS:
        twin = value.copy()
        return LongReply(chain((header,), twin.bulk_pieces(parts)), twin.release)
    return value.bulks(header, parts)


def _bulks(texts: list[bytes]) -> bytes | LongReply:
    if len(texts) > MANY_FIELDS:
        return LongReply(_bulks_in_pieces(texts))
    return replies.bulk_array(texts)


def _bulks_in_pieces(texts: list[bytes]) -> Iterator[bytes]:
    yield replies.array_header(len(texts))
    for start in range(0, len(texts), FIELDS_PER_PIECE):
        yield b"".join(map(replies.bulk, texts[start : start + FIELDS_PER_PIECE]))


@command("HLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def hlen(client: Client, argv: Request) -> bytes:
    """Integer; fields that have expired and are not yet removed count. Source: Redis 7.4."""
    value = client.lookup_typed(argv[1], HashValue)
    return replies.ZERO if value is None else replies.integer(len(value))


@command("HEXISTS", arity=3, flags=READONLY | FAST, keys=one_key(b"RO"))
def hexists(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it is there. Source: Redis 7.0."""
    value = read_fields(client, argv[1], argv[2:])
    return replies.ONE if value is not None and argv[2] in value else replies.ZERO


@command("HSTRLEN", arity=3, flags=READONLY | FAST, keys=one_key(b"RO"))
def hstrlen(client: Client, argv: Request) -> bytes:
    """Integer: bytes, 0 without the field. Source: Redis 7.0."""
    value = read_fields(client, argv[1], argv[2:])
    text = None if value is None else value.get(argv[2])
    return replies.integer(0 if text is None else len(text))
