"""The time to live of hash fields: HEXPIRE, HTTL, their variants, HPERSIST; HGETEX, HSETEX.

Deadlines are stored and propagated as Unix time in milliseconds. A deadline in the past removes the
field at once, and an HDEL is propagated. HGETDEL, HGETEX and HSETEX read or set fields and remove
them or change their time to live in one step.
"""

from __future__ import annotations

import dataclasses

from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key
from commands.hashes.fields import (
    finish_change,
    read_fields,
    removed_fields,
    values_reply,
    write_fields,
)
from commands.replication.replica_table import check_field_times
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
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


# Option -> (its unit in ms, whether it counts from now on rather than from the epoch).
_UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
MAX_FIELDS = (1 << 31) - 1


@command("HGETDEL", arity=-5, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def hgetdel(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings and nulls. Source: Redis 8.0."""
    key = argv[1]
    check_type(client, key)
    names = parse_fields(argv, 2, errors.FIELD_COUNT_NOT_POSITIVE)
    value = write_fields(client, key, names)
    if value is None:
        return values_reply(client, None, names)
    found, removed = [], []
    for name in names:  # a field that is named twice is already removed
        found.append(value.get(name))
        if value.delete(name):
            removed.append(name)
    if removed:
        client.propagate(b"HDEL", key, *names)
        removed_fields(client, key, value, removed)
    return replies.array([replies.bulk_or_nil(one, client.resp) for one in found])


@record
class _Options:
    """The words after the key."""

    words: list[bytes] = dataclasses.field(default_factory=list)  # after FIELDS and the number
    option: bytes = b""  # about the time: EX, PX, EXAT, PXAT, or the one without an amount
    amount: bytes = b""
    condition: bytes = b""  # FNX or FXX

    def take_time(self, word: bytes, arguments: Arguments, bare_option: bytes) -> bool:
        """Take an option about the time; False if `word` (upper case) is none."""
        if word != bare_option and word not in _UNITS:
            return False
        if self.option:
            raise errors.two_lifetimes(bare_option)
        self.option = word
        if word in _UNITS:
            self.amount = arguments.next(errors.MISSING_EXPIRE_TIME)
        return True

    def take_condition(self, word: bytes) -> bool:
        """Take FNX or FXX; False if `word` (upper case) is none of them."""
        if word not in (b"FNX", b"FXX"):
            return False
        if self.condition:
            raise ReplyError(errors.FNX_WITH_FXX)
        self.condition = word
        return True

    def deadline_ms(self, now_ms: int, name: bytes) -> int | None:
        """The Unix time in ms that was given; None without one. Raises ReplyError."""
        if self.option not in _UNITS:
            return None
        unit_ms, from_now_on = _UNITS[self.option]
        return parse_time(self.amount, unit_ms, now_ms if from_now_on else 0, name)


@command("HGETEX", arity=-5, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def hgetex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings and nulls. Source: Redis 8.10."""
    key, instance = argv[1], client.instance
    check_type(client, key)
    options = _parse_hgetex(Arguments(argv, 2))
    when_ms = options.deadline_ms(instance.now_ms, b"hgetex")
    names = options.words
    if when_ms is not None and when_ms > instance.now_ms:
        check_field_times(client, b"hgetex")
    value = write_fields(client, key, names)
    reply = values_reply(client, value, names)
    client.propagate_nothing()
    if value is None or not options.option:
        return reply
    if when_ms is not None:
        _give_time(client, key, value, names, when_ms)
    elif persisted := persist_fields(client, key, value, names):
        client.propagate(b"HPERSIST", key, b"FIELDS", b"%d" % len(persisted), *persisted)
    return reply


def _parse_hgetex(arguments: Arguments) -> _Options:
    options = _Options()
    while arguments:
        word = arguments.next()
        if word.upper() == b"FIELDS":
            if options.words:
                raise ReplyError(errors.FIELDS_TWICE)
            count = parse_int(
                arguments.next(errors.FIELD_COUNT_NOT_POSITIVE),
                errors.FIELD_COUNT_NOT_POSITIVE,
                1,
            )
            if count > arguments.remaining:
                raise ReplyError(errors.FIELD_COUNT_MISMATCH)
            options.words = [arguments.next() for _ in range(count)]
        elif not options.take_time(word.upper(), arguments, b"PERSIST"):
            if options.words:
                raise ReplyError(errors.FIELD_COUNT_MISMATCH)
            raise errors.unknown_argument(word)
    if not options.words:
        raise ReplyError(errors.FIELDS_MISSING)
    return options


def _give_time(
    client: Client, key: bytes, value: HashValue, names: list[bytes], when_ms: int
) -> None:
    """Let those of the fields that are there expire, or remove them if the time has come."""
    present = [name for name in dict.fromkeys(names) if name in value]
    if not present:
        return
    if when_ms <= client.instance.now_ms and not client.replays:
        for name in present:
            value.delete(name)
        announce_times(client, key, value, [], present, when_ms)
        return
    for name in present:
        value.expire_at(name, when_ms)
    announce_times(client, key, value, present, [], when_ms)


@command("HSETEX", arity=-6, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hsetex(client: Client, argv: Request) -> bytes:
    """Integer: 1 if all fields were set, 0 if the condition is not met. Source: Redis 8.10."""
    key, instance = argv[1], client.instance
    options = _parse_hsetex(Arguments(argv, 2))
    when_ms = options.deadline_ms(instance.now_ms, b"hsetex")
    names = options.words[::2]
    if when_ms is not None and when_ms > instance.now_ms:
        check_field_times(client, b"hsetex")
    value = write_fields(client, key, names)
    if options.condition:
        present = 0 if value is None else sum(name in value for name in names)
        if present != (len(names) if options.condition == b"FXX" else 0):
            return replies.ZERO
    if value is None:
        value = HashValue()
        client.store(key, value)
    _set_fields(client, value, options, when_ms)
    client.modified(key, len(names))
    client.notify_fields(b"hset", key, names)
    finish_change(client, key, value)
    if when_ms is not None:
        _finish_hsetex(client, argv, value, options, when_ms)
    else:
        propagate_set(client, key, value, options.words)
    return replies.ONE


def _set_fields(client: Client, value: HashValue, options: _Options, when_ms: int | None) -> None:
    limits, words = client.instance.encoding_limits, options.words
    if options.option != b"KEEPTTL":
        value.update(words, limits)
    else:
        value.prepare(words, limits)
        for name, text in zip(words[::2], words[1::2], strict=True):
            value.set(name, text, limits)
    if when_ms is not None:
        for name in words[::2]:
            value.expire_at(name, when_ms)


def _finish_hsetex(
    client: Client, argv: Request, value: HashValue, options: _Options, when_ms: int
) -> None:
    """The fields have a time now: remove them if it has come; notify and propagate."""
    key, words = argv[1], options.words
    if when_ms <= client.instance.now_ms and not client.replays:
        names = list(dict.fromkeys(words[::2]))
        for name in names:
            value.delete(name)
            client.propagate(b"HDEL", key, name)
        removed_fields(client, key, value, names)
        return
    client.notify_fields(b"hexpire", key, words[::2])
    propagate_set(client, key, value, words)


def propagate_set(client: Client, key: bytes, value: HashValue, words: list[bytes]) -> None:
    """Propagate fields that were set, with the times that they have now: HSET, which removes
    times, and HPEXPIREAT."""
    client.propagate(b"HSET", key, *words)
    fields_at: dict[int, list[bytes]] = {}
    for name in dict.fromkeys(words[::2]):
        if (at_ms := value.time_of(name)) is not None:
            fields_at.setdefault(at_ms, []).append(name)
    for at_ms, names in fields_at.items():
        count = b"%d" % len(names)
        client.propagate(b"HPEXPIREAT", key, b"%d" % at_ms, b"FIELDS", count, *names)


def _parse_hsetex(arguments: Arguments) -> _Options:
    options = _Options()
    while arguments:
        word = arguments.next()
        if word.upper() == b"FIELDS":
            if options.words:
                raise ReplyError(errors.FIELDS_TWICE)
            if arguments.remaining < 3:
                raise errors.wrong_arity(b"hsetex")
            count = parse_int(arguments.next(), errors.FIELD_COUNT_INVALID, 1, MAX_FIELDS)
            if 2 * count > arguments.remaining:
                raise errors.wrong_arity(b"hsetex")
            options.words = [arguments.next() for _ in range(2 * count)]
        elif not options.take_condition(word.upper()) and not options.take_time(
            word.upper(), arguments, b"KEEPTTL"
        ):
            if options.words:
                raise errors.wrong_arity(b"hsetex")
            raise errors.unknown_argument(word)
    if not options.words:
        raise ReplyError(errors.FIELDS_MISSING)
    return options
