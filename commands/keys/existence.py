"""DEL, UNLINK, EXISTS, TOUCH, TYPE, EXPIRE, TTL and their variants, PERSIST.

DEL and UNLINK do the same: the key is removed at once, and the memory of a large value is freed
incrementally in the background (storage/keyspace/deferred_free.py).

Deadlines are stored and propagated as Unix time in milliseconds. A deadline in the past removes the
key at once, and a DEL is propagated.

`find` and `peek` look up keys without the side effects of `Client.lookup`.
"""

from __future__ import annotations

import cython

from commands.core import notifications
from commands.core.arguments import INT64_MAX, INT64_MIN, parse_deadline, parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import FAST, READONLY, WRITE, command, keys_to_end, one_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.replies import ONE, ZERO
from protocol.request import Request
from storage.keyspace.database import Database
from storage.types.value import Value, type_name


def find(client: Client, db: Database, key: bytes) -> Value | None:
    """The value in any database, None if there is none or it has expired; counts nothing."""
    value: Value | None = db.values.get(key)
    if value is None or not value.deadline or client.replays:
        return value
    if db.has_passed(value, client.instance.now_ms):
        client.instance.expire(db, key)
        return None
    return value


def peek(client: Client, key: bytes, tell_of_miss: bool = True) -> Value | None:
    """`Client.lookup` that leaves the access time alone, for commands that inspect a key.

    With `tell_of_miss` a missing key causes the event `keymiss`, as any read does.
    """
    instance: Instance = client.instance
    value = find(client, client.db, key)
    if value is not None:
        instance.stats.keyspace_hits += 1
        return value
    instance.stats.keyspace_misses += 1
    if tell_of_miss and instance.is_observed:
        instance.notify_miss(client.db, key)
    return None


def parse_database(client: Client, word: bytes) -> Database:
    """The database with the index `word`. Raises ReplyError if there is none."""
    index = parse_int(word)
    if not -(1 << 31) <= index < 1 << 31:
        raise ReplyError(errors.NOT_A_32_BIT_INTEGER)
    databases = client.instance.databases
    if not 0 <= index < len(databases):
        raise ReplyError(errors.DB_INDEX_OUT_OF_RANGE)
    return databases[index]


@command("DEL", arity=-2, flags=WRITE, keys=keys_to_end(b"RM", b"DELETE"), is_quick=True)
def del_(client: Client, argv: Request) -> bytes:
    """Integer: how many keys were there. Source: Redis 7.2."""
    return _delete_all(client, argv)


@command("UNLINK", arity=-2, flags=WRITE | FAST, keys=keys_to_end(b"RM", b"DELETE"))
def unlink(client: Client, argv: Request) -> bytes:
    """Integer: how many keys were there. Source: Redis 7.2."""
    return _delete_all(client, argv)


@cython.cfunc
def _delete_all(client: Client, argv: Request) -> bytes:
    deleted: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(1, argv.count):
        deleted += delete(client, argv.word(index))
    return replies.integer(deleted)


def delete(client: Client, key: bytes) -> bool:
    """Remove a key and notify; False if it was not there or had expired.

    Propagation is left to the command.
    """
    if find(client, client.db, key) is None:
        return False
    instance: Instance = client.instance
    instance.remove(client.db, key)
    client.modified(key)
    client.notify(_EVENTS, b"del", key)
    return True


@command("EXISTS", arity=-2, flags=READONLY | FAST, keys=keys_to_end(b"RO"))
def exists(client: Client, argv: Request) -> bytes:
    """Integer; a key that is named twice counts twice. Source: Redis 7.2."""
    found: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(1, argv.count):
        found += peek(client, argv.word(index)) is not None
    return replies.integer(found)


@command("TOUCH", arity=-2, flags=READONLY | FAST, keys=keys_to_end(b"RO"))
def touch(client: Client, argv: Request) -> bytes:
    """Integer: how many keys exist. CLIENT NO-TOUCH does not apply. Source: Redis 7.2."""
    count = 0
    for key in argv[1:]:
        value = client.lookup(key)
        if value is not None:
            if client.no_touch or not client.instance.reads_touch:
                client.instance.touch(value)
            count += 1
    return replies.integer(count)


@command("TYPE", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def type_(client: Client, argv: Request) -> bytes:
    """Simple string: string, list, set, zset, hash or stream; none without the key.

    Source: Redis 7.2.
    """
    return replies.simple(type_name(peek(client, argv.word(1))))


_EVENTS: cython.long = notifications.GENERIC
# The least times that have 64 bits in milliseconds.
_LEAST_MS: cython.long = INT64_MIN
_LEAST_SECONDS: cython.long = -(INT64_MAX // 1000)
_NO_KEY = replies.integer(-2)
_NO_DEADLINE = replies.integer(-1)


@command("EXPIRE", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def expire(client: Client, argv: Request) -> bytes:
    """Integer: 1 if the deadline was set or the key removed, else 0. Source: Redis 7.2."""
    return _expire(client, argv, b"expire", 1000, client.instance.now_ms)


@command("PEXPIRE", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def pexpire(client: Client, argv: Request) -> bytes:
    """Integer: 1 if the deadline was set or the key removed, else 0."""
    return _expire(client, argv, b"pexpire", 1, client.instance.now_ms)


@command("EXPIREAT", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def expireat(client: Client, argv: Request) -> bytes:
    """Integer: 1 if the deadline was set or the key removed, else 0."""
    return _expire(client, argv, b"expireat", 1000, 0)


@command("PEXPIREAT", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def pexpireat(client: Client, argv: Request) -> bytes:
    """Integer: 1 if the deadline was set or the key removed, else 0."""
    return _expire(client, argv, b"pexpireat", 1, 0)


def _expire(
    client: Client,
    argv: Request,
    command: bytes,
    unit_ms: cython.long,
    base_ms: cython.long,
) -> bytes:
    key = argv.word(1)
    conditions = _parse_conditions(argv[3:]) if argv.count > 3 else None
    least: cython.long = _LEAST_MS if unit_ms == 1 else _LEAST_SECONDS
    when_ms: cython.long = parse_deadline(argv.word(2), unit_ms, base_ms, command, least)
    if client.lookup_for_write(key) is None:
        return ZERO
    if conditions and not _allows(conditions, client.db.deadline(key), when_ms):
        return ZERO
    # A replayed request may be followed by one that extends the deadline.
    if when_ms <= client.instance.now_ms and not client.replays:
        delete(client, key)
        client.propagate(b"DEL", key)
        return ONE
    set_deadline(client, key, when_ms)
    return ONE


def set_deadline(client: Client, key: bytes, when_ms: cython.long) -> None:
    """Set the deadline of an existing key (Unix ms), notify, and propagate it."""
    client.expire_at(client.db, key, when_ms)
    client.modified(key)
    client.notify(_EVENTS, b"expire", key)
    if client.instance.propagation.sinks:
        client.propagate(b"PEXPIREAT", key, b"%d" % when_ms)


def _parse_conditions(words: list[bytes]) -> set[bytes]:
    conditions = {word.upper() for word in words}
    for word in words:
        if word.upper() not in (b"NX", b"XX", b"GT", b"LT"):
            raise errors.unsupported_expire_option(word)
    if b"NX" in conditions and len(conditions) > 1:
        raise ReplyError(errors.EXPIRE_NX_WITH_OTHERS)
    if {b"GT", b"LT"} <= conditions:
        raise ReplyError(errors.EXPIRE_GT_WITH_LT)
    return conditions


def _allows(conditions: set[bytes], current_ms: int | None, when_ms: int) -> bool:
    """Return True if all conditions hold. No deadline counts as an infinite one."""
    if current_ms is None:
        return not conditions & {b"XX", b"GT"}
    if b"NX" in conditions:
        return False
    if b"GT" in conditions:
        return when_ms > current_ms
    return b"LT" not in conditions or when_ms < current_ms


# -- asking ------------------------------------------------------------------------------------


@command("TTL", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def ttl(client: Client, argv: Request) -> bytes:
    """Integer: seconds, rounded; -1 without a deadline, -2 without the key. Source: Redis 7.2."""
    return _deadline(client, argv, 1000, client.instance.now_ms)


@command("PTTL", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def pttl(client: Client, argv: Request) -> bytes:
    """Integer: milliseconds; -1 without a deadline, -2 without the key."""
    return _deadline(client, argv, 1, client.instance.now_ms)


@command("EXPIRETIME", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def expiretime(client: Client, argv: Request) -> bytes:
    """Integer: Unix seconds, rounded; -1 without a deadline, -2 without the key."""
    return _deadline(client, argv, 1000, 0)


@command("PEXPIRETIME", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def pexpiretime(client: Client, argv: Request) -> bytes:
    """Integer: Unix milliseconds; -1 without a deadline, -2 without the key."""
    return _deadline(client, argv, 1, 0)


def _deadline(
    client: Client, request: Request, unit_ms: cython.long, base_ms: cython.long
) -> bytes:
    key = request.word(1)
    value: Value | None = peek(client, key)
    if value is None:
        return _NO_KEY
    if not value.deadline:
        return _NO_DEADLINE
    left_ms: cython.long = client.db.expires.at(value.deadline) - base_ms
    left: cython.long = left_ms // unit_ms
    if left_ms % unit_ms > (unit_ms - 1) // 2:  # a sum that rounds might have more than 64 bits
        left += 1
    return replies.integer(left)


@command("PERSIST", arity=2, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def persist(client: Client, argv: Request) -> bytes:
    """Integer: 1 if there was one. Source: Redis 7.2."""
    if client.lookup_for_write(argv[1]) is None:
        return ZERO
    return ONE if persist_key(client, argv[1]) else ZERO


def persist_key(client: Client, key: bytes) -> bool:
    """Remove a key's time to live, and notify; False if it had none."""
    if not client.db.persist(key):
        return False
    client.modified(key)
    client.notify(_EVENTS, b"persist", key)
    return True
