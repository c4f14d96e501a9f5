"""SET, SETNX, SETEX, PSETEX, GETSET, MSET, MSETNX and MSETEX: set a key to a string.

The old value, of any type, is replaced, and its time to live is removed unless KEEPTTL is given.
Times to live are propagated as Unix time in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import cython

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import (
    DENYOOM,
    FAST,
    MOVABLE_KEYS,
    WRITE,
    command,
    counted_keys,
    keys_to_end,
    one_key,
    one_varying_key,
)
from commands.state import notifications
from commands.strings.conditions import CONDITIONS, Condition, parse_condition
from commands.strings.lifetime import Lifetime, parse_deadline
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.strings import StringValue

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.keyspace.database import Database

# Up to this many are set one by one.
FEW_KEYS = 16


MAX_NUMKEYS = (1 << 31) - 1


@record
class SetOptions:
    """The options after SET's value."""

    existence: bytes = b""  # NX, XX, or none
    condition: Condition | None = None
    return_old: bool = False  # GET
    lifetime: Lifetime = field(default_factory=Lifetime)


@cython.cfunc
def _set_plainly(client: Client, request: Request) -> bytes | None:
    """`set_` of a new key or a string that no client waits for or watches; None for other cases."""
    db: Database = client.db
    instance: Instance = client.instance
    key = request.word(1)
    value = db.values.get(key)
    if (
        (value is not None and type(value) is not StringValue)
        or request.count != 3
        or (db.expires and key in db.expires)
        or (instance.watchers and (db.index, key) in instance.watchers)
        or instance.is_observed
        or instance.ready_keys.awaited
    ):
        return None
    data = request.word(2)
    if value is None:
        db.set(key, StringValue(data, instance.now_ms))
    else:
        string: StringValue = value
        string.data = data
        string._encoding = None
        if not string.has_changed:  # saves a call
            db.memory.note(string)
        if instance.counts_accesses:
            instance.touch(string)
        else:  # saves a call
            string.access_ms = instance.now_ms
    instance.dirty += 1
    request.mark_quick(len(data))
    return replies.OK


def _key_flags(argv: Sequence[bytes]) -> tuple[bytes, ...]:
    """SET only overwrites the key, unless the old string matters."""
    reads = any(word.upper() in (b"GET", *CONDITIONS) for word in argv[3:])
    return (b"RW", b"ACCESS", b"UPDATE") if reads else (b"OW", b"UPDATE")


@command(
    "SET",
    arity=-3,
    flags=WRITE | DENYOOM,
    keys=one_varying_key(_key_flags, b"RW", b"ACCESS", b"UPDATE"),
)
def set_(client: Client, argv: Request) -> bytes:
    """OK, or null if the condition does not hold; with GET the old string, or null.

    Source: Redis 7.2.
    """
    reply = _set_plainly(client, argv)
    if reply is not None:  # 0.19 us a request instead of 1.08
        return reply
    key, data = argv[1], argv[2]
    if len(argv) == 3:
        put(client, key, data)
        return replies.OK
    options = _parse_set_options(Arguments(argv, 3))
    deadline_ms = options.lifetime.deadline_ms(b"set", client.instance.now_ms)
    keep_lifetime = options.lifetime.option == b"KEEPTTL"
    # GET and conditions read, and so they count as a hit or a miss and refuse other types.
    reads = options.return_old or options.condition is not None
    old = client.lookup_string(key) if reads else client.lookup_for_write(key)
    refused = options.existence == (b"NX" if old is not None else b"XX")
    if options.condition is not None:
        assert old is None or isinstance(old, StringValue)
        refused = not options.condition.holds(old)
    if not refused:
        put(
            client,
            key,
            data,
            deadline_ms=deadline_ms,
            keep_lifetime=keep_lifetime,
            is_looked_up=True,
        )
        _propagate_set(client, argv[0], key, data, deadline_ms, keep_lifetime)
    if options.return_old:
        content = old.to_bytes() if isinstance(old, StringValue) else None
        return replies.bulk_or_nil(content, client.resp)
    return replies.NIL[client.resp] if refused else replies.OK


def _parse_set_options(arguments: Arguments) -> SetOptions:
    options = SetOptions()
    while arguments:
        word = arguments.next_keyword()
        if word in (b"NX", b"XX", *CONDITIONS):
            _take_condition(options, word, arguments)
        elif word == b"GET":
            options.return_old = True
        elif not options.lifetime.take(word, arguments, b"KEEPTTL"):
            raise ReplyError(errors.SYNTAX)
    return options


def _take_condition(options: SetOptions, word: bytes, arguments: Arguments) -> None:
    """Only one condition may be given, though it may be given again."""
    earlier = options.existence if options.condition is None else options.condition.word
    if earlier not in (b"", word):
        raise ReplyError(errors.SYNTAX)
    if word in CONDITIONS:
        options.condition = parse_condition(word, arguments.next())
    else:
        options.existence = word


def put(
    client: Client,
    key: bytes,
    data: bytes,
    *,
    deadline_ms: int | None = None,
    keep_lifetime: bool = False,
    is_looked_up: bool = False,
) -> None:
    """Set a key to a new string, notify, and wake waiting clients.

    `is_looked_up`: the caller has done that, for whatever the key was.
    """
    db, instance = client.db, client.instance
    if db.expires or instance.counts_accesses:
        client.lookup_for_write(
            key
        )  # counts an access; an expired value is removed first, with its own event
    instance.store(db, key, StringValue(data, instance.now_ms))
    if deadline_ms is not None:
        client.expire_at(db, key, deadline_ms)
    elif db.expires and not keep_lifetime:
        db.persist(key)
    client.modified(key)
    if instance.config.notify_keyspace_events:
        client.notify(notifications.STRING, b"set", key)
        if deadline_ms is not None:
            client.notify(notifications.GENERIC, b"expire", key)


def _propagate_set(
    client: Client,
    name: bytes,
    key: bytes,
    data: bytes,
    deadline_ms: int | None,
    keep_lifetime: bool,
) -> None:
    """A SET without condition and GET, which has been decided here.

    `name` is the command's, which a server may have renamed; a deadline makes it another request.
    """
    if deadline_ms is not None:
        client.propagate(b"SET", key, data, b"PXAT", b"%d" % deadline_ms)
    elif keep_lifetime:
        client.propagate(name, key, data, b"KEEPTTL")
    else:
        client.propagate(name, key, data)


@command("SETNX", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"OW", b"INSERT"))
def setnx(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was set. Source: Redis 7.2."""
    if client.lookup_for_write(argv[1]) is not None:
        return replies.ZERO
    put(client, argv[1], argv[2], is_looked_up=True)
    return replies.ONE


@command("SETEX", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"OW", b"UPDATE"))
def setex(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    return _set_with_lifetime(client, argv, b"setex", 1000)


@command("PSETEX", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"OW", b"UPDATE"))
def psetex(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    return _set_with_lifetime(client, argv, b"psetex", 1)


def _set_with_lifetime(client: Client, argv: Request, command: bytes, unit_ms: int) -> bytes:
    _, key, amount, data = argv
    deadline_ms = parse_deadline(amount, unit_ms, client.instance.now_ms, command)
    put(client, key, data, deadline_ms=deadline_ms)
    _propagate_set(client, b"SET", key, data, deadline_ms, keep_lifetime=False)
    return replies.OK


@command("GETSET", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def getset(client: Client, argv: Request) -> bytes:
    """Bulk string, null if there was none. Source: Redis 7.2."""
    _, key, data = argv
    old = client.lookup_string(key)
    put(client, key, data, is_looked_up=True)
    _propagate_set(client, b"SET", key, data, deadline_ms=None, keep_lifetime=False)
    return replies.bulk_or_nil(old.to_bytes() if old is not None else None, client.resp)


@command("MSET", arity=-3, flags=WRITE | DENYOOM, keys=keys_to_end(b"OW", b"UPDATE", step=2))
def mset(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    _put_all(client, _pairs(argv, b"mset"))
    return replies.OK


@command("MSETNX", arity=-3, flags=WRITE | DENYOOM, keys=keys_to_end(b"OW", b"INSERT", step=2))
def msetnx(client: Client, argv: Request) -> bytes:
    """Integer: 1 if all were set, 0 if none was. Source: Redis 7.2."""
    pairs = _pairs(argv, b"msetnx")
    if any(client.lookup_for_write(key) is not None for key, _ in pairs):
        return replies.ZERO
    _put_all(client, pairs)
    return replies.ONE


def _put_all(client: Client, pairs: list[tuple[bytes, bytes]]) -> None:
    """`put` for each pair; many new keys are inserted in one batch if no event is published."""
    instance, db = client.instance, client.db
    is_plain = len(pairs) > FEW_KEYS and not (
        instance.config.notify_keyspace_events
        or instance.watchers
        or instance.tracking.active
        or instance.ready_keys.awaited
    )
    if is_plain:
        now_ms = instance.now_ms
        values = [StringValue(data, now_ms) for _, data in pairs]
        if db.add_all([key for key, _ in pairs], values):
            instance.dirty += len(pairs)
            return
    for key, data in pairs:
        put(client, key, data)


def _pairs(argv: Request, command: bytes) -> list[tuple[bytes, bytes]]:
    if len(argv) % 2 == 0:
        raise errors.wrong_arity(command)
    return list(zip(argv[1::2], argv[2::2], strict=True))


@command(
    "MSETEX",
    arity=-4,
    flags=WRITE | DENYOOM | MOVABLE_KEYS,
    keys=counted_keys(b"OW", b"UPDATE", step=2),
)
def msetex(client: Client, argv: Request) -> bytes:
    """Integer: 1 if all were set, 0 if none was. Source: Redis 8.4."""
    number = parse_int(argv[1], errors.MSETEX_NUMKEYS, minimum=1, maximum=MAX_NUMKEYS)
    end = 2 + 2 * number
    if end > len(argv):
        raise ReplyError(errors.MSETEX_PAIRS)
    existence, lifetime = _parse_msetex_options(Arguments(argv, end))
    deadline_ms = lifetime.deadline_ms(b"msetex", client.instance.now_ms)
    keys, contents = argv[2:end:2], argv[3:end:2]
    present = [client.lookup_for_write(key) is not None for key in keys]
    if (existence == b"NX" and any(present)) or (existence == b"XX" and not all(present)):
        return replies.ZERO
    keeps = lifetime.option == b"KEEPTTL"
    for key, data in zip(keys, contents, strict=True):
        put(
            client,
            key,
            data,
            deadline_ms=deadline_ms,
            keep_lifetime=keeps,
            is_looked_up=True,
        )
    words = [b"KEEPTTL"] if keeps else []
    if deadline_ms is not None:
        words = [b"PXAT", b"%d" % deadline_ms]
    if words:
        for key, data in zip(keys, contents, strict=True):
            client.propagate(b"SET", key, data, *words)
    else:
        client.propagate(b"MSET", *argv[2:end])
    return replies.ONE


def _parse_msetex_options(arguments: Arguments) -> tuple[bytes, Lifetime]:
    existence, lifetime = b"", Lifetime()
    while arguments:
        word = arguments.next_keyword()
        if word in (b"NX", b"XX") and existence in (b"", word):
            existence = word
        elif not lifetime.take(word, arguments, b"KEEPTTL"):
            raise ReplyError(errors.SYNTAX)
    return existence, lifetime
