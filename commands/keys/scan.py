"""KEYS, SCAN, RANDOMKEY and DBSIZE: iteration over a database's keys.

SCAN's cursor and its guarantees: storage/keyspace/database.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, command
from commands.keys.existence import find
from commands.keys.pattern import matches
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.keyspace.database import KeyWalk
from storage.types.value import type_name

SCAN_COUNT = 10
# KEYS takes about a millisecond for this many keys; with more, the reply is sent in pieces.
MANY_KEYS = 4000
KEYS_PER_STEP = 200
# The syntax of C's strtoull: blanks, a sign, digits. And the negative 64-bit numbers that Redis's
# own parser, which runs first, accepts.
_CURSOR = re.compile(rb"[ \t\n\v\f\r]*([+-]?)0*(\d{1,20})")
_NEGATIVE = re.compile(rb"-[1-9]\d*")
_CURSOR_LIMIT = 1 << 64


@command("KEYS", arity=2, flags=READONLY)
def keys(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings, in no promised order. Source: Redis 7.2."""
    if len(client.db) > MANY_KEYS:
        walk = client.db.start_walk(client.instance.now_ms)
        return LongReply(_keys_in_pieces(walk, argv[1]), walk.end)
    found = matching(client.db.keys(), argv[1])
    if client.db.expires:
        # Unlike other reads, KEYS hides expired keys and does not remove them.
        db, now_ms = client.db, client.instance.now_ms
        found = (key for key in found if not db.is_expired(key, now_ms))
    return replies.bulk_array(list(found))


def _keys_in_pieces(walk: KeyWalk, pattern: bytes) -> Iterator[bytes]:
    """The pieces of the reply; empty ones until all keys were matched and counted."""
    count = 0
    pieces: list[bytes] = []
    for names in walk.read():
        found = walk.unexpired(matching(names, pattern))
        count += len(found)
        pieces.append(b"".join(map(replies.bulk, found)))
        yield b""
    yield replies.array_header(count)
    yield from pieces


def matching(names: Iterable[bytes], pattern: bytes) -> Iterable[bytes]:
    """The names that match; a lone `*` also matches the empty name."""
    return names if pattern == b"*" else filter(partial(matches, pattern), names)


@record
class ScanOptions:
    """The options of SCAN."""

    pattern: bytes = b"*"
    count: int = SCAN_COUNT
    type_name: bytes | None = None


@command("SCAN", arity=-2, flags=READONLY)
def scan(client: Client, argv: Request) -> bytes | LongReply:
    """Array of two: the next cursor, 0 at the end, and an array of keys. Source: Redis 7.2."""
    cursor = parse_cursor(argv[1])
    options = parse_scan_options(Arguments(argv, 2), takes_type=True)
    if min(options.count, len(client.db)) > MANY_KEYS:
        return LongReply(_scan_in_pieces(client, cursor, options), shows_changes=True)
    cursor, found = _scan_some(client, cursor, options, options.count)
    return replies.array([replies.bulk(b"%d" % cursor), replies.bulk_array(found)])


def _scan_some(
    client: Client, cursor: int, options: ScanOptions, count: int
) -> tuple[int, list[bytes]]:
    """Look at up to `count` keys: the next cursor, and the keys that are wanted."""
    cursor, seen = client.db.scan(cursor, count)
    found = [
        key for key in matching(seen, options.pattern) if _has_type(client, key, options.type_name)
    ]
    return cursor, found


def _scan_in_pieces(client: Client, cursor: int, options: ScanOptions) -> Iterator[bytes]:
    """The reply for a large COUNT: equal to that of several SCANs in sequence."""
    left, found = options.count, 0
    pieces: list[bytes] = []
    while left:
        count = min(left, KEYS_PER_STEP)
        cursor, keys = _scan_some(client, cursor, options, count)
        left -= count
        found += len(keys)
        pieces.append(b"".join(map(replies.bulk, keys)))
        yield b""
        if not cursor:
            break
    yield b"*2\r\n" + replies.bulk(b"%d" % cursor) + replies.array_header(found)
    yield from pieces


def parse_cursor(word: bytes) -> int:
    """Parse a cursor as Redis does since 7.4: negative numbers of 64 bits are errors, others wrap.

    Raises ReplyError.
    """
    text = word.partition(b"\0")[0]
    parts = _CURSOR.fullmatch(text)
    if parts is None or int(parts[2]) >= _CURSOR_LIMIT:
        raise ReplyError(errors.INVALID_CURSOR)
    number = int(parts[1] + parts[2])
    if -_CURSOR_LIMIT // 2 <= number < 0 and _NEGATIVE.fullmatch(text):
        raise ReplyError(errors.INVALID_CURSOR)
    return number % _CURSOR_LIMIT


def parse_scan_options(arguments: Arguments, *, takes_type: bool = False) -> ScanOptions:
    """The options of SCAN, or of a walk over the members of one key. Raises ReplyError."""
    options = ScanOptions()
    while arguments:
        option = arguments.next_keyword()
        value = arguments.next()
        if option == b"MATCH":
            options.pattern = value
        elif option == b"TYPE" and takes_type:
            options.type_name = value.lower()
        elif option == b"COUNT":
            options.count = parse_int(value)
            if options.count < 1:
                raise ReplyError(errors.SYNTAX)
        else:
            raise ReplyError(errors.SYNTAX)
    return options


@record
class MemberScanOptions:
    """The options of HSCAN, SSCAN and ZSCAN."""

    pattern: bytes = b"*"
    count: int = SCAN_COUNT
    novalues: bool = False


def parse_member_scan_options(
    arguments: Arguments, *, takes_novalues: bool = False
) -> MemberScanOptions:
    """The words after the cursor. `takes_novalues`: HSCAN. Raises ReplyError."""
    options = MemberScanOptions()
    while arguments:
        option = arguments.next_keyword()
        if option == b"MATCH" and arguments:
            options.pattern = arguments.next()
        elif option == b"COUNT" and arguments:
            options.count = arguments.next_int()
            if options.count < 1:
                raise ReplyError(errors.SYNTAX)
        elif option == b"NOVALUES":
            if not takes_novalues:
                raise ReplyError(errors.NOVALUES_NOT_HSCAN)
            options.novalues = True
        else:
            raise ReplyError(errors.SYNTAX)
    return options


def _has_type(client: Client, key: bytes, wanted: bytes | None) -> bool:
    """Return True if the key exists and has the type `wanted`, if one is given."""
    value = find(client, client.db, key)
    return value is not None and wanted in (None, type_name(value))


@command("RANDOMKEY", arity=1, flags=READONLY)
def randomkey(client: Client, argv: Request) -> bytes:
    """Bulk string, or null if the database is empty. Source: Redis 7.2."""
    instance = client.instance
    while (key := client.db.random_key(instance.chance)) is not None:
        if find(client, client.db, key) is not None:
            return replies.bulk(key)
    return replies.NIL[client.resp]


@command("DBSIZE", arity=1, flags=READONLY | FAST)
def dbsize(client: Client, argv: Request) -> bytes:
    """Integer; keys that have expired and are not yet removed count. Source: Redis 7.2."""
    return replies.integer(len(client.db))
