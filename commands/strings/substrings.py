"""STRLEN, GETRANGE, SUBSTR, APPEND, SETRANGE: parts of a string; LCS.

LCS is the longest common subsequence of two strings, its length, or the positions of its parts. The
method is bit-parallel: for each byte of the first string a row is computed as one large integer,
with a bit for each byte of the second, which is 0 where the common subsequence of both prefixes
becomes longer. A row takes a few machine instructions for each 64 bytes. Backtracking through the
rows finds the same one of several longest subsequences as Redis. Crochemore, Iliopoulos, Pinzon and
Reid (2001) describe it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from commands.core import notifications
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, KeySpec, command, one_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import SHORT_BYTES, Request
from storage.types.value import StringValue


@command("STRLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def strlen(client: Client, argv: Request) -> bytes:
    """Integer: bytes, 0 without the key. Source: Redis 7.2."""
    value = client.lookup_string(argv[1])
    return replies.ZERO if value is None else replies.integer(len(value))


@command("GETRANGE", arity=4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def getrange(client: Client, argv: Request) -> bytes:
    """Bulk string: both ends included, below zero they count from the end. Source: Redis 7.2."""
    return _part(client, argv)


@command("SUBSTR", arity=4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def substr(client: Client, argv: Request) -> bytes:
    """Bulk string: both ends included, below zero they count from the end."""
    return _part(client, argv)


def _part(client: Client, argv: Request) -> bytes:
    start, end = parse_int(argv[2]), parse_int(argv[3])
    value = client.lookup_string(argv[1])
    if value is None or (start < 0 and end < 0 and start > end):
        return replies.EMPTY_BULK
    length = len(value)
    # An end before the beginning is taken for the beginning, so that "abc" 0 -9 is "a".
    start = max(start + length, 0) if start < 0 else start
    end = max(end + length, 0) if end < 0 else end
    return replies.bulk(bytes(value.data[start : end + 1]))


@command("APPEND", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def append(client: Client, argv: Request) -> bytes:
    """Integer: the length of the string. Source: Redis 7.2."""
    _, key, tail = argv
    value = client.lookup_string_for_write(key)
    if value is None:
        value = StringValue(tail, client.instance.now_ms)
        client.store(key, value)
    else:
        _check_length(client, len(value) + len(tail))
        argv.takes_long = len(value) > SHORT_BYTES  # which it may copy
        value.append(tail)
    client.modified(key)
    client.notify(notifications.STRING, b"append", key)
    return replies.integer(len(value))


@command("SETRANGE", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"UPDATE"))
def setrange(client: Client, argv: Request) -> bytes:
    """Integer: the length of the string. Source: Redis 7.2."""
    key, offset, patch = argv[1], parse_int(argv[2]), argv[3]
    if offset < 0:
        raise ReplyError(errors.OFFSET_OUT_OF_RANGE)
    value = client.lookup_string_for_write(key)
    if not patch:
        return replies.integer(0 if value is None else len(value))
    _check_length(client, offset + len(patch))
    if value is None:
        value = StringValue(b"", client.instance.now_ms)
        client.store(key, value)
    value.overwrite(offset, patch)
    client.modified(key)
    client.notify(notifications.STRING, b"setrange", key)
    return replies.integer(len(value))


def _check_length(client: Client, length: int) -> None:
    """Raise ReplyError for a string that is too long; replayed requests pass, as in Redis."""
    if not client.replays and length > client.instance.config.proto_max_bulk_len:
        raise ReplyError(errors.STRING_TOO_LONG)


# What Redis would need for each pair of bytes.
_PAIR_BYTES = 4


class Match(NamedTuple):
    """Bytes in a row that both strings have: where they begin in each, and how many there are."""

    first: int
    second: int
    length: int


@record
class _Options:
    wants_length: bool = False
    wants_places: bool = False
    min_length: int = 0
    shows_lengths: bool = False


@command(
    "LCS", arity=-3, flags=READONLY, keys=(KeySpec(begin=1, last=1, flags=(b"RO", b"ACCESS")),)
)
def lcs(client: Client, argv: Request) -> bytes:
    """Bulk string; with LEN an integer, with IDX a map. Source: Redis 7.2."""
    first, second = _content(client, argv[1]), _content(client, argv[2])
    options = _parse(Arguments(argv, 3))
    pairs = (len(first) + 1) * (len(second) + 1)
    if pairs * _PAIR_BYTES > client.instance.config.proto_max_bulk_len:
        raise ReplyError(errors.LCS_TOO_LONG)
    rows = make_rows(first, second)
    if options.wants_places:
        return _places(find_matches(first, second, rows), options, client.resp)
    if options.wants_length:
        ones = rows[-1].bit_count() if rows else len(second)
        return replies.integer(len(second) - ones)
    parts = [first[m.first : m.first + m.length] for m in find_matches(first, second, rows)]
    return replies.bulk(b"".join(reversed(parts)))


def _content(client: Client, key: bytes) -> bytes:
    value = client.lookup(key)
    if value is None:
        return b""
    if not isinstance(value, StringValue):
        raise ReplyError(errors.LCS_NOT_STRINGS)
    return value.to_bytes()


def _parse(arguments: Arguments) -> _Options:
    options = _Options()
    while arguments:
        word = arguments.next_keyword()
        if word == b"LEN":
            options.wants_length = True
        elif word == b"IDX":
            options.wants_places = True
        elif word == b"WITHMATCHLEN":
            options.shows_lengths = True
        elif word == b"MINMATCHLEN":
            options.min_length = max(arguments.next_int(), 0)
        else:
            raise ReplyError(errors.SYNTAX)
    if options.wants_length and options.wants_places:
        raise ReplyError(errors.LCS_BOTH)
    return options


def make_rows(first: bytes, second: bytes) -> list[int]:
    """For each byte of `first`: a number whose bits are 0 at the bytes of `second` that make the
    common subsequence of all up to there longer."""
    masks: dict[int, int] = defaultdict(int)
    for place, byte in enumerate(second):
        masks[byte] |= 1 << place
    whole = (1 << len(second)) - 1
    row, rows = whole, list[int]()
    for byte in first:
        same = masks.get(byte, 0)
        row = ((row + (row & same)) | (row & ~same)) & whole
        rows.append(row)
    return rows


def find_matches(first: bytes, second: bytes, rows: list[int]) -> Iterator[Match]:
    """The parts of the common subsequence, from the end of the strings on."""
    i, j = len(first), len(second)
    length = 0  # of the part that begins at i, j
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j, length = i - 1, j - 1, length + 1
            continue
        if length:
            yield Match(i, j, length)
            length = 0
        if rows[i - 1] >> j - 1 & 1:
            j -= 1
        else:
            i -= 1
    if length:
        yield Match(i, j, length)


def _places(matches: Iterator[Match], options: _Options, resp: int) -> bytes:
    total, shown = 0, list[bytes]()
    for match in matches:
        total += match.length
        if match.length < options.min_length:
            continue
        parts = [
            replies.array([replies.integer(start), replies.integer(start + match.length - 1)])
            for start in (match.first, match.second)
        ]
        if options.shows_lengths:
            parts.append(replies.integer(match.length))
        shown.append(replies.array(parts))
    fields = [
        replies.bulk(b"matches"), replies.array(shown), replies.bulk(b"len"), replies.integer(total)
    ]  # fmt: skip
    return replies.mapping(fields, resp)
