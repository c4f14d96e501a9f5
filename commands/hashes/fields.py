"""HGET, HSET, HDEL, HINCRBY and the other commands on fields; the look-up of hashes.

An expired field reads as missing (lazy expiry). A command that names one removes it first, as
commands do with expired keys; commands that read the whole hash skip it. Requests from a primary or
a file were accepted before, and see every field.

HINCRBY and HINCRBYFLOAT: a missing field counts as 0, and its time to live stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import cython

from commands.core import notifications
from commands.core.arguments import INT64_MAX, INT64_MIN, parse_int
from commands.core.client import Client
from commands.core.gates import KEEPING_GATES
from commands.core.instance import Instance
from commands.core.long_reply import LONG_BYTES, LongReply, in_pieces, sliced, sliced_bulks
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key
from commands.strings import long_double
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.replies import EMPTY_ARRAY, NIL, OK, ONE, ZERO
from protocol.request import Request
from storage.keyspace.database import Database
from storage.redis_format.listpack_elements import plain_integer
from storage.types.hashes import HashValue
from storage.types.key_part import KEYS, VALUES
from storage.types.records import field_of, pair_bulks, value_of

if TYPE_CHECKING:
    from fractions import Fraction


def read_fields(client: Client, key: bytes, names: Sequence[bytes]) -> HashValue | None:
    """The hash for a command that reads fields by their names. Raises WRONGTYPE."""
    found = client.lookup_typed(key, HashValue)
    return (
        found if found is None or found.expires is None else remove_named(client, key, found, names)
    )


def write_fields(client: Client, key: bytes, names: Sequence[bytes]) -> HashValue | None:
    """The hash for a command that changes fields by their names. Raises WRONGTYPE."""
    found = client.lookup_typed_for_write(key, HashValue)
    return (
        found if found is None or found.expires is None else remove_named(client, key, found, names)
    )


def time_for(client: Client) -> int | None:
    """The time (Unix ms) up to which fields count as expired for a client; None: none do."""
    return None if client.replays else client.instance.now_ms


def remove_named(
    client: Client, key: bytes, found: HashValue, names: Iterable[bytes]
) -> HashValue | None:
    """Remove the expired ones of the named fields for a command; None if the hash is empty then.

    On a replica they stay, hidden from clients, until the primary's HDEL arrives.
    """
    if client.replays:
        return found
    now_ms = client.instance.now_ms
    due = [name for name in dict.fromkeys(names) if found.is_expired(name, now_ms)]
    if not due:
        return found
    if client.instance.gates & KEEPING_GATES:
        found = found.copy()
        for name in due:
            found.delete(name)
    else:
        remove_expired(client.instance, client.db, key, found, due)
    return found if len(found) else None


def remove_expired(
    instance: Instance, db: Database, key: bytes, value: HashValue, due: Sequence[bytes]
) -> None:
    """Remove expired fields. Replicas and the append-only file get an HDEL for each."""
    for field in due:
        value.delete(field)
        instance.propagation.propagate(db.index, [b"HDEL", key, field])
    instance.stats.expired_subkeys += len(due)
    instance.notify_fields(b"hexpired", key, due, db.index)
    if len(value):
        db.watch_fields(key)
    else:
        instance.remove(db, key)
        instance.notify(notifications.GENERIC, b"del", key, db.index)
    instance.key_modified(db, key, None)


def remove_fields(client: Client, key: bytes, value: HashValue, names: Iterable[bytes]) -> int:
    """Remove fields for a command, and the key with the last of them; return how many existed.

    Notifies `hdel`, and `del` for the key. Propagation is left to the command.
    """
    removed = [name for name in names if value.delete(name)]
    if removed:
        removed_fields(client, key, value, removed)
    return len(removed)


def removed_fields(client: Client, key: bytes, value: HashValue, removed: Sequence[bytes]) -> None:
    """Fields of a hash were removed: notify, and remove the key if none is left."""
    client.modified(key, len(removed))
    client.notify_fields(b"hdel", key, removed)
    finish_change(client, key, value)


def finish_change(client: Client, key: bytes, value: HashValue) -> None:
    """After fields or their times were changed: remove a hash without fields."""
    if len(value):
        client.db.watch_fields(key)
    else:
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)


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
        reply = NIL[client.resp]
    return reply


@command("HMGET", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def hmget(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings and nulls. Source: Redis 7.0."""
    names = argv[2:]
    value: HashValue | None = client.lookup_typed(argv.word(1), HashValue)
    if value is not None and value.expires is not None:
        value = remove_named(client, argv.word(1), value, names)
    return values_reply(client, value, names)


def values_reply(client: Client, value: HashValue | None, names: list[bytes]) -> bytes | LongReply:
    """The values of fields, null for those that are not there; after a megabyte, in pieces."""
    nil = NIL[client.resp]
    if value is None:
        return replies.array([nil] * len(names))
    parts = [replies.array_header(len(names))]
    size: cython.Py_ssize_t = 0
    name: bytes
    for name in names:
        bulk: bytes | None = value.value_bulk(name)
        if bulk is None:
            bulk = nil
        parts.append(bulk)
        size += len(bulk)
        if size >= LONG_BYTES:
            break
    rest = names[len(parts) - 1 :]
    if not rest:
        return replies.joined(parts)
    twin = value.copy()
    return LongReply(in_pieces(chain(parts, _values(twin, rest, nil))), twin.release)


def _values(value: HashValue, names: list[bytes], nil: bytes) -> Iterator[bytes]:
    for name in names:
        bulk = value.value_bulk(name)
        yield nil if bulk is None else bulk


@command("HGETALL", arity=2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"), is_quick=True)
def hgetall(client: Client, argv: Request) -> bytes | LongReply:
    """Map of bulk strings. Source: Redis 7.0."""
    value: HashValue | None = client.lookup_typed(argv.word(1), HashValue)
    if value is None:
        return replies.map_header(0, client.resp)
    if value.expires is not None:
        argv.takes_long = True  # all of its fields may have expired
        records = value.records(time_for(client))
        header = replies.map_header(len(records), client.resp)
        if len(records) > MANY_FIELDS:
            return LongReply(sliced(header, records, FIELDS_PER_PIECE, _pairs))
        return pair_bulks(header, records)
    header = replies.map_header(len(value), client.resp)
    if len(value) > MANY_FIELDS or value.memory_bytes() > LONG_BYTES:
        twin = value.copy()
        return LongReply(in_pieces(chain((header,), twin.bulk_pieces(KEYS + VALUES))), twin.release)
    return value.bulks(header, KEYS + VALUES)


def _pairs(records: list[bytes]) -> bytes:
    return pair_bulks(b"", records)


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
        return EMPTY_ARRAY
    if value.expires is not None:
        records = value.records(time_for(client))
        return _bulks(list(map(field_of, records) if parts == KEYS else map(value_of, records)))
    header = replies.array_header(len(value))
    if len(value) > MANY_FIELDS or value.memory_bytes() > LONG_BYTES:
        twin = value.copy()
        return LongReply(in_pieces(chain((header,), twin.bulk_pieces(parts))), twin.release)
    return value.bulks(header, parts)


def _bulks(texts: list[bytes]) -> bytes | LongReply:
    if len(texts) > MANY_FIELDS:
        header = replies.array_header(len(texts))
        return LongReply(sliced_bulks(header, texts, FIELDS_PER_PIECE))
    return replies.bulk_array(texts)


@command("HLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def hlen(client: Client, argv: Request) -> bytes:
    """Integer; fields that have expired and are not yet removed count. Source: Redis 7.4."""
    value: HashValue | None = client.lookup_typed(argv.word(1), HashValue)
    return ZERO if value is None else replies.integer(len(value))


@command("HEXISTS", arity=3, flags=READONLY | FAST, keys=one_key(b"RO"))
def hexists(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it is there. Source: Redis 7.0."""
    value = read_fields(client, argv[1], argv[2:])
    return ONE if value is not None and argv[2] in value else ZERO


@command("HSTRLEN", arity=3, flags=READONLY | FAST, keys=one_key(b"RO"))
def hstrlen(client: Client, argv: Request) -> bytes:
    """Integer: bytes, 0 without the field. Source: Redis 7.0."""
    value = read_fields(client, argv[1], argv[2:])
    text = None if value is None else value.get(argv[2])
    return replies.integer(0 if text is None else len(text))


@command("HSET", arity=-4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hset(client: Client, argv: Request) -> bytes:
    """Integer: how many fields are new. Source: Redis 7.0."""
    return replies.integer(_set(client, argv, b"hset"))


@command("HMSET", arity=-4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hmset(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.0."""
    _set(client, argv, b"hmset")
    return OK


@cython.cfunc
def _set(client: Client, argv: Request, name: bytes) -> cython.Py_ssize_t:
    """Set fields, which have no time then; how many are new."""
    if argv.count % 2:
        raise errors.wrong_arity(name)
    key = argv.word(1)
    value: HashValue | None = client.lookup_typed_for_write(key, HashValue)
    if value is not None and value.expires is not None:
        value = remove_named(client, key, value, argv[2::2])
    had_times: cython.bint = value is not None and value.expires is not None
    if value is None:
        value = HashValue()
        client.store(key, value)
    instance: Instance = client.instance
    created: cython.Py_ssize_t
    if argv.count == 4:
        text = argv.word(3)
        created = value.assign(argv.word(2), text, instance.encoding_limits)
    else:
        created = value.update(argv[2:], instance.encoding_limits)
    if had_times:
        client.db.watch_fields(key)
    client.modified(key, (argv.count - 2) // 2)
    if instance.is_observed:
        client.notify_fields(b"hset", key, argv[2::2])
    return created


@command("HSETNX", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def hsetnx(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was set. Source: Redis 7.0."""
    _, key, field, _ = argv
    value = write_fields(client, key, [field])
    if value is not None and field in value:
        return ZERO
    if value is None:
        value = HashValue()
        client.store(key, value)
    value.update(argv[2:], client.instance.encoding_limits)
    client.modified(key)
    client.notify_fields(b"hset", key, [field])
    return ONE


@command("HDEL", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
def hdel(client: Client, argv: Request) -> bytes:
    """Integer: how many fields were there. Source: Redis 7.0."""
    key, names = argv[1], argv[2:]
    value = write_fields(client, key, names)
    return ZERO if value is None else replies.integer(remove_fields(client, key, value, names))


_LEAST: cython.long = INT64_MIN
_GREATEST: cython.long = INT64_MAX


@command(
    "HINCRBY", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def hincrby(client: Client, argv: Request) -> bytes:
    """Integer: the sum. Source: Redis 7.0."""
    key, field = argv.word(1), argv.word(2)
    increment: cython.long = parse_int(argv.word(3))
    value: HashValue | None = client.lookup_typed_for_write(key, HashValue)
    if value is not None and value.expires is not None:
        value = remove_named(client, key, value, [field])
    old: bytes | None = None if value is None else value.get(field)
    number: cython.long = 0
    if old is not None:
        number = plain_integer(old, 0, len(old))
        if number == 0 and old != b"0":
            raise ReplyError(errors.HASH_VALUE_NOT_AN_INTEGER)
    if number > _GREATEST - increment if increment > 0 else number < _LEAST - increment:
        raise ReplyError(errors.INCREMENT_OVERFLOW)
    reply: bytes = replies.integer(number + increment)
    # The reply has the digits, after a colon and before the end of the line.
    text: cython.p_const_uchar = reply
    _set_number(client, key, value, field, text[1 : len(reply) - 2])
    if client.instance.is_observed:
        client.notify_fields(b"hincrby", key, [field])
    return reply


@cython.cfunc
def _set_number(
    client: Client, key: bytes, value: HashValue | None, field: bytes, number: bytes
) -> None:
    if value is None:
        value = HashValue()
        client.store(key, value)
    value.set(field, number, client.instance.encoding_limits)
    client.modified(key)


@command(
    "HINCRBYFLOAT", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def hincrbyfloat(client: Client, argv: Request) -> bytes:
    """Bulk string: the sum, with up to 17 decimals. Source: Redis 7.0.

    Propagated as the result, because another machine's floats may round otherwise.
    """
    _, key, field, text = argv
    try:
        increment = _parse(text, errors.NOT_A_FLOAT)
    except long_double.NotFinite:
        raise ReplyError(errors.NOT_FINITE) from None
    value = write_fields(client, key, [field])
    old = None if value is None else value.get(field)
    try:
        augend = _parse(b"0" if old is None else old, errors.HASH_VALUE_NOT_A_FLOAT)
        number = long_double.format_number(long_double.add(augend, increment))
    except long_double.NotFinite:
        raise ReplyError(errors.INCREMENT_NOT_FINITE) from None
    at_ms = None if value is None else value.time_of(field)
    _set_number(client, key, value, field, number)
    client.notify_fields(b"hincrbyfloat", key, [field])
    client.propagate(b"HSET", key, field, number)
    if at_ms is not None:  # which HSET removes
        client.propagate(b"HPEXPIREAT", key, b"%d" % at_ms, b"FIELDS", b"1", field)
    return replies.bulk(number)


def _parse(text: bytes, error: bytes) -> Fraction:
    """A number. Raises ReplyError(error) if it is none, and NotFinite."""
    try:
        return long_double.parse(text)
    except ValueError:
        raise ReplyError(error) from None
