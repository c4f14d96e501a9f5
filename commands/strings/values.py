"""GET, SET, INCR and their relatives: strings as a whole, and as numbers.

A long string is sent in pieces: it is not copied for its reply as a whole, others are served in
between, and a client that does not read makes no copy of it.

Setting a key replaces the old value, of any type, and removes its time to live unless KEEPTTL is
given. Times to live are propagated as Unix time in milliseconds.

For INCR and its relatives a missing key counts as 0, and a time to live stays. INCRBYFLOAT is
propagated as a SET of its result, because the floats of another machine may be rounded differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import cython

from commands.core import notifications
from commands.core.arguments import INT64_MAX, INT64_MIN, Arguments, parse_deadline, parse_int
from commands.core.client import Client
from commands.core.long_reply import LONG_BYTES, LongReply, in_pieces
from commands.core.registry import (
    DENYOOM,
    FAST,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    command,
    counted_keys,
    keys_to_end,
    one_key,
    one_varying_key,
)
from commands.keys.existence import delete, persist_key, set_deadline
from commands.streams.request_cache import RequestCache
from commands.strings import long_double
from commands.strings.conditions import (
    CONDITIONS,
    SPELLED_UNITS,
    Condition,
    Lifetime,
    parse_condition,
)
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.replies import NIL, OK, ONE, ZERO
from protocol.request import Request
from storage.redis_format.listpack_elements import plain_integer
from storage.types.value import EMBEDDED_STRING_BYTES, StringValue, Value

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from commands.core.client import opened, written

if TYPE_CHECKING:
    from fractions import Fraction

    from commands.core.instance import Instance
    from storage.keyspace.database import Database

# Strings from this length on are sent in pieces.
_LONG_BYTES: cython.Py_ssize_t = LONG_BYTES


@command("GET", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def get(client: Client, request: Request) -> bytes | LongReply:
    """Bulk string, null without the key. Source: Redis 7.2."""
    value: StringValue | None = client.lookup_string(request.word(1))
    data = None if value is None else value.to_bytes()
    if data is not None and len(data) >= _LONG_BYTES:
        return LongReply(in_pieces(_parts(data)))
    return replies.bulk_or_nil(data, client.resp)


@command("MGET", arity=-2, flags=READONLY | FAST, keys=keys_to_end(b"RO", b"ACCESS"))
def mget(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings, null for a key that is not there or holds no string.

    Source: Redis 7.2.
    """
    nil = NIL[client.resp]
    items = [replies.array_header(len(argv) - 1)]
    size: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(1, argv.count):
        value = client.lookup(argv.word(index))
        if type(value) is not StringValue:
            items.append(nil)
            continue
        data = value.to_bytes()
        size += len(data)
        if size < _LONG_BYTES:
            items.append(replies.bulk(data))
        else:
            items += _parts(data)  # without a copy
    return LongReply(in_pieces(items)) if size >= _LONG_BYTES else b"".join(items)


@command("GETDEL", arity=2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def getdel(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, null without the key. Source: Redis 7.2."""
    value: StringValue | None = client.lookup_string(argv[1])
    if value is None:
        return NIL[client.resp]
    delete(client, argv[1])
    client.propagate(b"DEL", argv[1])
    return _whole(value.to_bytes())


@command("GETEX", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def getex(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, null without the key. Source: Redis 7.2."""
    key, now_ms = argv[1], client.instance.now_ms
    lifetime = _parse_getex_options(Arguments(argv, 2))
    value: StringValue | None = client.lookup_string(key)
    if value is None:
        return NIL[client.resp]  # even when the deadline is invalid
    deadline_ms = lifetime.deadline_ms(b"getex", now_ms)
    if lifetime.option == b"PERSIST":
        if persist_key(client, key):
            client.propagate(b"PERSIST", key)
    elif deadline_ms is not None and deadline_ms <= now_ms and not client.replays:
        delete(client, key)
        client.propagate(b"DEL", key)
    elif deadline_ms is not None:
        set_deadline(client, key, deadline_ms)
    return _whole(value.to_bytes())


def _whole(data: bytes) -> bytes | LongReply:
    """A string as a reply."""
    if len(data) < _LONG_BYTES:
        return replies.bulk(data)
    return LongReply(in_pieces(_parts(data)))


def _parts(data: bytes) -> tuple[bytes, bytes, bytes]:
    """A bulk string; the string itself is not copied."""
    return b"$%d\r\n" % len(data), data, b"\r\n"


def _parse_getex_options(arguments: Arguments) -> Lifetime:
    lifetime = Lifetime()
    while arguments:
        if not lifetime.take(arguments.next_keyword(), arguments, b"PERSIST"):
            raise ReplyError(errors.SYNTAX)
    return lifetime


# -- SET and its relatives ---------------------------------------------------------------------


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


def _key_flags(argv: Sequence[bytes]) -> tuple[bytes, ...]:
    """SET only overwrites the key, unless the old string matters."""
    reads = not {b"GET", *CONDITIONS}.isdisjoint([word.upper() for word in argv[3:]])
    return (b"RW", b"ACCESS", b"UPDATE") if reads else (b"OW", b"UPDATE")


@command(
    "SET",
    arity=-3,
    flags=WRITE | DENYOOM,
    keys=one_varying_key(_key_flags, b"RW", b"ACCESS", b"UPDATE"),
    is_quick=True,
)
def set_(client: Client, request: Request) -> bytes:
    """OK, or null if the condition does not hold; with GET the old string, or null.

    Source: Redis 7.2.
    """
    key, data = request.word(1), request.word(2)
    if request.count == 3:
        put(client, key, data)
        return OK
    if request.count == 5 and (unit := SPELLED_UNITS.get(request.word(3))) is not None:
        base_ms: cython.long = client.instance.now_ms if unit[1] else 0
        return _set_with_lifetime(client, key, data, request.word(4), unit[0], base_ms, b"set")
    options = _set_options(request)
    deadline_ms: cython.long = options.lifetime.deadline_ms(b"set", client.instance.now_ms) or 0
    keep_lifetime = options.lifetime.option == b"KEEPTTL"
    # GET and conditions read, and so they count as a hit or a miss and refuse other types.
    reads = options.return_old or options.condition is not None
    old: Value | None = client.lookup_string(key) if reads else client.lookup_for_write(key)
    content = old.to_bytes() if isinstance(old, StringValue) else None
    refused = options.existence == (b"NX" if old is not None else b"XX")
    if options.condition is not None:
        assert old is None or isinstance(old, StringValue)
        refused = not options.condition.holds(old)
    if not refused:
        _replace(client, key, old, data, deadline_ms, keep_lifetime)
        _propagate_set(client, request[0], key, data, deadline_ms, keep_lifetime)
    if options.return_old:
        return replies.bulk_or_nil(content, client.resp)
    return NIL[client.resp] if refused else OK


# The options of requests that were parsed, for all servers of the process.
_KNOWN: RequestCache[SetOptions] = RequestCache()


def _set_options(request: Request) -> SetOptions:
    wire = request.tail(3)
    options = _KNOWN.get(wire)
    if options is None:
        options = _parse_set_options(Arguments(request, 3))
        _KNOWN.put(wire, options)
    return options


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


@cython.cfunc
def put(client: Client, key: bytes, data: bytes, deadline_ms: cython.long = 0) -> None:
    """Set a key to a new string, notify, and wake waiting clients."""
    # This counts an access; an expired value is removed first, with its own event.
    _replace(client, key, opened(client, key), data, deadline_ms, False)


@cython.cfunc
def _replace(
    client: Client,
    key: bytes,
    old: Value | None,
    data: bytes,
    deadline_ms: cython.long,
    keep_lifetime: cython.bint,
) -> None:
    """`put` at a key that was looked up: `old` is its value; without a deadline that is 0."""
    db: Database = client.db
    instance: Instance = client.instance
    string: StringValue
    if type(old) is StringValue:
        string = old
        if not string.has_changed:
            db.memory.note(string)
        string.data, string.form = data, 0  # saves a call
        string.access_ms = instance.now_ms
        if instance.is_observed and instance.config.notify_keyspace_events:
            instance.notify_overwritten(db, key, old, old)
    else:
        string = StringValue(data, instance.now_ms)
        instance.store(db, key, string)
    if deadline_ms:
        client.expire_at(db, key, deadline_ms)
    elif string.deadline and not keep_lifetime:
        db.persist(key)
    written(client, key, _EVENTS, b"set")
    if deadline_ms:
        client.notify(notifications.GENERIC, b"expire", key)


@cython.cfunc
def _propagate_set(
    client: Client,
    name: bytes,
    key: bytes,
    data: bytes,
    deadline_ms: cython.long,
    keep_lifetime: cython.bint,
) -> None:
    """A SET without condition and GET, which has been decided here.

    `name` is the command's, which a server may have renamed; a deadline makes it another request.
    """
    if not client.instance.propagation.sinks:
        return
    if deadline_ms:
        client.propagate(b"SET", key, data, b"PXAT", b"%d" % deadline_ms)
    elif keep_lifetime:
        client.propagate(name, key, data, b"KEEPTTL")
    else:
        client.propagate(name, key, data)


@command("SETNX", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"OW", b"INSERT"))
def setnx(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was set. Source: Redis 7.2."""
    if client.lookup_for_write(argv[1]) is not None:
        return ZERO
    _replace(client, argv[1], None, argv[2], 0, False)
    return ONE


@command("SETEX", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"OW", b"UPDATE"), is_quick=True)
def setex(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    now_ms = client.instance.now_ms
    return _set_with_lifetime(client, argv[1], argv[3], argv[2], 1000, now_ms, b"setex")


@command("PSETEX", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"OW", b"UPDATE"), is_quick=True)
def psetex(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    now_ms = client.instance.now_ms
    return _set_with_lifetime(client, argv[1], argv[3], argv[2], 1, now_ms, b"psetex")


@cython.cfunc
def _set_with_lifetime(
    client: Client,
    key: bytes,
    data: bytes,
    amount: bytes,
    unit_ms: cython.long,
    base_ms: cython.long,
    command: bytes,
) -> bytes:
    deadline_ms: cython.long = parse_deadline(amount, unit_ms, base_ms, command)
    put(client, key, data, deadline_ms)
    _propagate_set(client, b"SET", key, data, deadline_ms, False)
    return OK


@command("GETSET", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def getset(client: Client, argv: Request) -> bytes:
    """Bulk string, null if there was none. Source: Redis 7.2."""
    _, key, data = argv
    old: StringValue | None = client.lookup_string(key)
    content = None if old is None else old.to_bytes()
    _replace(client, key, old, data, 0, False)
    _propagate_set(client, b"SET", key, data, 0, False)
    return replies.bulk_or_nil(content, client.resp)


@command(
    "MSET",
    arity=-3,
    flags=WRITE | DENYOOM,
    keys=keys_to_end(b"OW", b"UPDATE", step=2),
    is_quick=True,
)
def mset(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    _put_all(client, _pairs(argv, b"mset"))
    return OK


@command("MSETNX", arity=-3, flags=WRITE | DENYOOM, keys=keys_to_end(b"OW", b"INSERT", step=2))
def msetnx(client: Client, argv: Request) -> bytes:
    """Integer: 1 if all were set, 0 if none was. Source: Redis 7.2."""
    pairs = _pairs(argv, b"msetnx")
    for key, _ in pairs:
        if client.lookup_for_write(key) is not None:
            return ZERO
    _put_all(client, pairs)
    return ONE


def _put_all(client: Client, pairs: list[tuple[bytes, bytes]]) -> None:
    """`put` for each pair; many new keys are inserted in one batch if no event is published."""
    instance, db = client.instance, client.db
    is_plain = len(pairs) > FEW_KEYS and not (instance.is_observed or instance.ready_keys.awaited)
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
    deadline_ms: cython.long = lifetime.deadline_ms(b"msetex", client.instance.now_ms) or 0
    keys, contents = argv[2:end:2], argv[3:end:2]
    present = [client.lookup_for_write(key) is not None for key in keys]
    if (existence == b"NX" and any(present)) or (existence == b"XX" and not all(present)):
        return ZERO
    keeps = lifetime.option == b"KEEPTTL"
    for key, data in zip(keys, contents, strict=True):
        _replace(client, key, client.db.values.get(key), data, deadline_ms, keeps)
    words = [b"KEEPTTL"] if keeps else []
    if deadline_ms:
        words = [b"PXAT", b"%d" % deadline_ms]
    if words:
        for key, data in zip(keys, contents, strict=True):
            client.propagate(b"SET", key, data, *words)
    else:
        client.propagate(b"MSET", *argv[2:end])
    return ONE


def _parse_msetex_options(arguments: Arguments) -> tuple[bytes, Lifetime]:
    existence, lifetime = b"", Lifetime()
    while arguments:
        word = arguments.next_keyword()
        if word in (b"NX", b"XX") and existence in (b"", word):
            existence = word
        elif not lifetime.take(word, arguments, b"KEEPTTL"):
            raise ReplyError(errors.SYNTAX)
    return existence, lifetime


# -- INCR and its relatives --------------------------------------------------------------------


_LEAST: cython.long = INT64_MIN
_GREATEST: cython.long = INT64_MAX
_EVENTS: cython.long = notifications.STRING


@command("INCR", arity=2, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def incr(client: Client, argv: Request) -> bytes:
    """Integer: the sum. Source: Redis 7.2."""
    return _add(client, argv, 1)


@command("DECR", arity=2, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def decr(client: Client, argv: Request) -> bytes:
    """Integer: the difference. Source: Redis 7.2."""
    return _add(client, argv, -1)


@command("INCRBY", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def incrby(client: Client, argv: Request) -> bytes:
    """Integer: the sum. Source: Redis 7.2."""
    return _add(client, argv, parse_int(argv.word(2)))


@command("DECRBY", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def decrby(client: Client, argv: Request) -> bytes:
    """Integer: the difference. Source: Redis 7.2."""
    decrement = parse_int(argv.word(2))
    if decrement == INT64_MIN:  # which has no positive counterpart to add
        raise ReplyError(errors.DECREMENT_OVERFLOW)
    return _add(client, argv, -decrement)


@cython.cfunc
def _add(client: Client, argv: Request, increment: cython.long) -> bytes:
    key = argv.word(1)
    value: StringValue | None = client.lookup_string_for_write(key)
    number: cython.long = 0
    if value is not None:
        data: bytes = value.to_bytes()
        number = plain_integer(data, 0, len(data))
        if number == 0 and data != b"0":
            raise ReplyError(errors.NOT_AN_INTEGER)
    if number > _GREATEST - increment if increment > 0 else number < _LEAST - increment:
        raise ReplyError(errors.INCREMENT_OVERFLOW)
    reply: bytes = replies.integer(number + increment)
    # The reply has the digits, after a colon and before the end of the line.
    text: cython.p_const_uchar = reply
    _set_number(client, key, value, text[1 : len(reply) - 2], None)
    client.notify(_EVENTS, b"incrby", key)
    return reply


@cython.cfunc
def _set_number(
    client: Client, key: bytes, value: StringValue | None, data: bytes, encoding: bytes | None
) -> None:
    """Make `data` the string at `key`, which is `value` if it is there."""
    if value is None:
        client.store(key, StringValue(data, client.instance.now_ms, encoding))
    else:
        value.replace(data, encoding)
    client.modified(key)


@command(
    "INCRBYFLOAT", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def incrbyfloat(client: Client, argv: Request) -> bytes:
    """Bulk string: the sum, with up to 17 decimals. Source: Redis 7.2."""
    key = argv[1]
    value: StringValue | None = client.lookup_string_for_write(key)
    data = _add_floats(b"0" if value is None else value.to_bytes(), argv[2])
    # Redis keeps the result as text even where it is an integer.
    encoding = b"embstr" if len(data) <= EMBEDDED_STRING_BYTES else b"raw"
    _set_number(client, key, value, data, encoding)
    client.notify(_EVENTS, b"incrbyfloat", key)
    client.propagate(b"SET", key, data, b"KEEPTTL")
    return replies.bulk(data)


def _add_floats(augend: bytes, increment: bytes) -> bytes:
    """The sum as text. An argument that is not a number is refused before an infinite one."""
    left, right = _parse_float(augend), _parse_float(increment)
    if left is None or right is None:
        raise ReplyError(errors.INCREMENT_NOT_FINITE)
    try:
        return long_double.format_number(long_double.add(left, right))
    except long_double.NotFinite:
        raise ReplyError(errors.INCREMENT_NOT_FINITE) from None


def _parse_float(text: bytes) -> Fraction | None:
    """The number, or None if it is infinite."""
    try:
        return long_double.parse(text)
    except long_double.NotFinite:
        return None
    except ValueError:
        raise ReplyError(errors.NOT_A_FLOAT) from None
