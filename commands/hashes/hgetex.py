"""HGETDEL, HGETEX and HSETEX: fields are read or set, and removed or given a time in one go."""

from __future__ import annotations

from dataclasses import field

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.hashes.hexpire import (
    announce_times,
    check_type,
    parse_fields,
    parse_time,
    persist_fields,
)
from commands.hashes.hget import values_reply
from commands.hashes.lookup import finish_change, removed_fields, write_fields
from commands.replication.older_replicas import check_field_times
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.hashes import HashValue

# Option -> (its unit in ms, whether it counts from now on rather than from the epoch).
_UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
MAX_FIELDS = (1 << 31) - 1


@command("HGETDEL", arity=-5, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def hgetdel(client: Client, argv: Request) -> bytes:
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

    words: list[bytes] = field(default_factory=list)  # after FIELDS and the number
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
def hgetex(client: Client, argv: Request) -> bytes:
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
