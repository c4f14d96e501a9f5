"""HEXPIRE and HTTL with their variants, and HPERSIST: the time to live of hash fields.

Deadlines are stored and propagated as Unix time in milliseconds. A deadline in the past removes the
field at once, and an HDEL is propagated.
"""

from __future__ import annotations

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key
from commands.hashes.lookup import finish_change, read_fields, removed_fields, write_fields
from commands.replication.older_replicas import check_field_times
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.hashes import HashValue

# The greatest time: Redis keeps it in 46 bits.
MAX_TIME_MS = (1 << 46) - 1

_CONDITIONS = (b"NX", b"XX", b"GT", b"LT")

# What HEXPIRE answers for a field.
NO_FIELD = -2
REFUSED = 0
SET = 1
REMOVED = 2
# And what others answer for one without a time.
NO_TIME = -1


def check_type(client: Client, key: bytes) -> None:
    """Raise WRONGTYPE before the rest of the request is checked, as Redis does here."""
    value = client.db.get(key)
    if value is not None and type(value) is not HashValue:
        client.lookup_typed_for_write(key, HashValue)


def parse_time(amount: bytes, unit_ms: int, base_ms: int, name: bytes) -> int:
    """The Unix time in ms that lies `amount` units after `base_ms`.

    Raises ReplyError, in which the command `name` (lower case) is named.
    """
    count = parse_int(amount)
    if count < 0:
        raise ReplyError(errors.NEGATIVE_EXPIRE_TIME)
    if count * unit_ms + base_ms > MAX_TIME_MS:
        raise errors.invalid_expire_time(name)
    return count * unit_ms + base_ms


def parse_fields(argv: Request, at: int, error: bytes) -> list[bytes]:
    """The fields of `FIELDS n field...`, which begins at argument `at` and ends the request.

    Raises ReplyError, with the text `error` for an invalid number.
    """
    if argv[at].upper() != b"FIELDS":
        raise ReplyError(errors.FIELDS_MISSING)
    names = argv[at + 2 :]
    if parse_int(argv[at + 1], error, 1, INT64_MAX) != len(names):
        raise ReplyError(errors.FIELD_COUNT_MISMATCH)
    return names


# -- setting -----------------------------------------------------------------------------------


@command("HEXPIRE", arity=-6, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hexpire(client: Client, argv: Request) -> bytes:
    """Array of integers, one for each field. Source: Redis 7.4."""
    return _expire(client, argv, b"hexpire", 1000, client.instance.now_ms)


@command("HPEXPIRE", arity=-6, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hpexpire(client: Client, argv: Request) -> bytes:
    """Array of integers, one for each field. The time to live is in milliseconds."""
    return _expire(client, argv, b"hpexpire", 1, client.instance.now_ms)


@command("HEXPIREAT", arity=-6, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hexpireat(client: Client, argv: Request) -> bytes:
    """Array of integers, one for each field. The deadline is a Unix time in seconds."""
    return _expire(client, argv, b"hexpireat", 1000, 0)


@command("HPEXPIREAT", arity=-6, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hpexpireat(client: Client, argv: Request) -> bytes:
    """Array of integers, one for each field. The deadline is a Unix time in milliseconds."""
    return _expire(client, argv, b"hpexpireat", 1, 0)


def _expire(client: Client, argv: Request, name: bytes, unit_ms: int, base_ms: int) -> bytes:
    key = argv[1]
    check_type(client, key)
    when_ms = parse_time(argv[2], unit_ms, base_ms, name)
    condition = argv[3].upper() if argv[3].upper() in _CONDITIONS else b""
    names = parse_fields(argv, 4 if condition else 3, errors.NUMFIELDS_NOT_POSITIVE)
    if when_ms > client.instance.now_ms:
        check_field_times(client, name)
    value = write_fields(client, key, names)
    if value is None:
        return _integers([NO_FIELD] * len(names))
    value.keep_times()
    # A replayed request may be followed by one that extends the deadline.
    is_past = when_ms <= client.instance.now_ms and not client.replays
    results = [_expire_field(value, field, when_ms, condition, is_past) for field in names]
    expiring = [field for field, result in zip(names, results, strict=True) if result == SET]
    removed = [field for field, result in zip(names, results, strict=True) if result == REMOVED]
    announce_times(client, key, value, expiring, removed, when_ms, condition)
    return _integers(results)


def _expire_field(
    value: HashValue, field: bytes, when_ms: int, condition: bytes, is_past: bool
) -> int:
    if field not in value:
        return NO_FIELD
    if not _allows(condition, value.time_of(field), when_ms):
        return REFUSED
    if is_past:
        value.delete(field)
        return REMOVED
    value.expire_at(field, when_ms)
    return SET


def _allows(condition: bytes, current_ms: int | None, when_ms: int) -> bool:
    """Return True if the condition holds. No deadline counts as an infinite one."""
    if current_ms is None:
        return condition not in (b"XX", b"GT")
    if condition == b"GT":
        return when_ms > current_ms
    return condition != b"NX" and (condition != b"LT" or when_ms < current_ms)


def announce_times(
    client: Client,
    key: bytes,
    value: HashValue,
    expiring: list[bytes],
    removed: list[bytes],
    when_ms: int,
    condition: bytes = b"",
) -> None:
    """Fields got a time, or were removed because it has come: notify and propagate.

    As in Redis, only the removal is notified where both have happened.
    """
    client.propagate_nothing()
    for field in removed:
        client.propagate(b"HDEL", key, field)
    if expiring:
        words = [b"%d" % when_ms, *([condition] if condition else []), b"FIELDS"]
        client.propagate(b"HPEXPIREAT", key, *words, b"%d" % len(expiring), *expiring)
    if removed:
        client.instance.dirty += len(expiring)
        removed_fields(client, key, value, removed)
    elif expiring:
        client.modified(key, len(expiring))
        client.notify_fields(b"hexpire", key, expiring)
        finish_change(client, key, value)


@command("HPERSIST", arity=-5, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def hpersist(client: Client, argv: Request) -> bytes:
    """Array of integers: 1 if there was a time, -1 if not, -2 without the field.

    Source: Redis 7.4.
    """
    key = argv[1]
    check_type(client, key)
    names = parse_fields(argv, 2, errors.FIELD_COUNT_NOT_POSITIVE)
    value = write_fields(client, key, names)
    if value is None:
        return _integers([NO_FIELD] * len(names))
    persisted = persist_fields(client, key, value, names)
    results = []
    for field in names:
        if field in persisted:
            persisted.remove(field)  # named again, it has none any more
            results.append(SET)
        else:
            results.append(NO_TIME if field in value else NO_FIELD)
    return _integers(results)


def persist_fields(client: Client, key: bytes, value: HashValue, names: list[bytes]) -> list[bytes]:
    """Remove the deadlines of fields; return the fields that had one. Propagates nothing."""
    persisted = value.persist(names)
    if persisted:
        client.modified(key, len(persisted))
        client.notify_fields(b"hpersist", key, persisted)
        finish_change(client, key, value)
    return persisted


# -- asking ------------------------------------------------------------------------------------


@command("HTTL", arity=-5, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def httl(client: Client, argv: Request) -> bytes:
    """Array of integers: seconds, rounded up; -1 without a time, -2 without the field.

    Source: Redis 7.4.
    """
    return _times(client, argv, 1000, client.instance.now_ms)


@command("HPTTL", arity=-5, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def hpttl(client: Client, argv: Request) -> bytes:
    """Array of integers: milliseconds; -1 without a time, -2 without the field."""
    return _times(client, argv, 1, client.instance.now_ms)


@command("HEXPIRETIME", arity=-5, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def hexpiretime(client: Client, argv: Request) -> bytes:
    """Array of integers: Unix seconds, rounded up; -1 without a time, -2 without the field."""
    return _times(client, argv, 1000, 0)


@command("HPEXPIRETIME", arity=-5, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def hpexpiretime(client: Client, argv: Request) -> bytes:
    """Array of integers: Unix milliseconds; -1 without a time, -2 without the field."""
    return _times(client, argv, 1, 0)


def _times(client: Client, argv: Request, unit_ms: int, base_ms: int) -> bytes:
    key = argv[1]
    check_type(client, key)
    names = parse_fields(argv, 2, errors.FIELD_COUNT_NOT_POSITIVE)
    value = read_fields(client, key, names)
    if value is None:
        return _integers([NO_FIELD] * len(names))
    return _integers([_time(value, field, unit_ms, base_ms) for field in names])


def _time(value: HashValue, field: bytes, unit_ms: int, base_ms: int) -> int:
    when_ms = value.time_of(field)
    if when_ms is None:
        return NO_TIME if field in value else NO_FIELD
    return -((base_ms - when_ms) // unit_ms)


def _integers(numbers: list[int]) -> bytes:
    return replies.array(list(map(replies.integer, numbers)))
