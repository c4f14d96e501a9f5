"""KEYS, SCAN, RANDOMKEY and DBSIZE: a database's keys as a whole.

SCAN's cursor and what a walk guarantees: storage/keyspace.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from commands.arguments import Arguments, parse_int
from commands.client import Client
from commands.keys.lookup import find
from commands.keys.pattern import matcher
from commands.registry import FAST, READONLY, Argv, command
from protocol import errors, replies
from protocol.errors import ReplyError
from storage.values import type_name

SCAN_COUNT = 10
_CURSOR = re.compile(rb"([+-]?)0*(\d{1,20})")
_CURSOR_LIMIT = 1 << 64


@command(
    "KEYS",
    arity=2,
    flags=READONLY,
    group="generic",
    since="1.0.0",
    summary="Lists the keys that match a pattern.",
    syntax="pattern",
    complexity="O(N) with N the number of keys in the database.",
    categories=("dangerous",),
    tips=(b"request_policy:all_shards", b"nondeterministic_output_order"),
)
def keys(client: Client, argv: Argv) -> bytes:
    """Array of bulk strings, in no promised order. Source: Redis 7.2."""
    found = matching(client.db.keys(), argv[1])
    if client.db.expires:
        # Unlike other reads, KEYS hides what has expired and leaves it there.
        db, now_ms = client.db, client.instance.now_ms
        found = (key for key in found if not db.is_expired(key, now_ms))
    return replies.bulk_array(list(found))


def matching(names: Iterable[bytes], pattern: bytes) -> Iterable[bytes]:
    """The names that match; a lone `*` lets the empty name through as well."""
    return names if pattern == b"*" else filter(matcher(pattern), names)


@dataclass(slots=True)
class ScanOptions:
    """What SCAN returns, and how far it goes in one call."""

    pattern: bytes = b"*"
    count: int = SCAN_COUNT
    type_name: bytes | None = None


@command(
    "SCAN",
    arity=-2,
    flags=READONLY,
    group="generic",
    since="2.8.0",
    summary="Walks over the keys, a few with every call.",
    syntax="cursor [MATCH pattern] [COUNT count] [TYPE type]",
    complexity="O(1) for a call, O(N) for the whole walk, with N the number of keys.",
    history=(("6.0.0", "Added the `TYPE` option."),),
    tips=(b"nondeterministic_output", b"request_policy:special", b"response_policy:special"),
)
def scan(client: Client, argv: Argv) -> bytes:
    """Array of two: the next cursor, 0 at the end, and an array of keys. Source: Redis 7.2."""
    cursor = parse_cursor(argv[1])
    options = _parse_scan_options(Arguments(argv, 2))
    cursor, seen = client.db.scan(cursor, options.count)
    found = [
        key for key in matching(seen, options.pattern) if _has_type(client, key, options.type_name)
    ]
    return replies.array([replies.bulk(b"%d" % cursor), replies.bulk_array(found)])


def parse_cursor(word: bytes) -> int:
    """A cursor as C's strtoul reads it: a sign is allowed, and nothing at all is 0.

    Raises ReplyError.
    """
    digits = word.partition(b"\0")[0]
    if not digits:
        return 0
    parts = _CURSOR.fullmatch(digits)
    if parts is None or int(parts[2]) >= _CURSOR_LIMIT:
        raise ReplyError(errors.INVALID_CURSOR)
    return int(parts[1] + parts[2]) % _CURSOR_LIMIT


def _parse_scan_options(arguments: Arguments) -> ScanOptions:
    options = ScanOptions()
    while arguments:
        option = arguments.next_keyword()
        value = arguments.next()
        if option == b"MATCH":
            options.pattern = value
        elif option == b"TYPE":
            options.type_name = value.lower()
        elif option == b"COUNT":
            options.count = parse_int(value)
            if options.count < 1:
                raise ReplyError(errors.SYNTAX)
        else:
            raise ReplyError(errors.SYNTAX)
    return options


def _has_type(client: Client, key: bytes, wanted: bytes | None) -> bool:
    """Whether a key that SCAN came across is there and of the type asked for, if any."""
    value = find(client, client.db, key)
    return value is not None and wanted in (None, type_name(value))


@command(
    "RANDOMKEY",
    arity=1,
    flags=READONLY,
    group="generic",
    since="1.0.0",
    summary="Returns a key chosen at random.",
    tips=(b"request_policy:all_shards", b"response_policy:special", b"nondeterministic_output"),
)
def randomkey(client: Client, argv: Argv) -> bytes:
    """Bulk string, or null if the database is empty. Source: Redis 7.2."""
    instance = client.instance
    while (key := client.db.random_key(instance.host.random_below)) is not None:
        if find(client, client.db, key) is not None:
            return replies.bulk(key)
    return replies.NIL[client.resp]


@command(
    "DBSIZE",
    arity=1,
    flags=READONLY | FAST,
    group="server",
    since="1.0.0",
    summary="Counts the keys of the database.",
    categories=("keyspace",),
    tips=(b"request_policy:all_shards", b"response_policy:agg_sum"),
)
def dbsize(client: Client, argv: Argv) -> bytes:
    """Integer; keys that have expired and are not yet removed count. Source: Redis 7.2."""
    return replies.integer(len(client.db))
