"""LLEN, LRANGE, LINDEX and LPOS: reading a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile

from commands.core.arguments import INT64_MIN, Arguments, parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, command, one_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.lists import ListNode, ListValue

# A reply of more elements is built and sent in pieces; a shorter one takes about a millisecond.
MANY_ITEMS = 5000


@command("LLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def llen(client: Client, argv: Request) -> bytes:
    """Integer, 0 without the key. Source: Redis 7.2."""
    value: ListValue | None = client.lookup_typed(argv.word(1), ListValue)
    argv.mark_quick(0)
    return replies.integer(0 if value is None else value._length)


@command("LINDEX", arity=3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def lindex(client: Client, argv: Request) -> bytes:
    """Bulk string; null without the key or the element. Source: Redis 7.2."""
    value: ListValue | None = client.lookup_typed(argv.word(1), ListValue)
    if value is None:
        return replies.NIL[client.resp]
    index = from_start(value, parse_int(argv.word(2)))
    if index is None:
        return replies.NIL[client.resp]
    item = value.at(index)
    argv.mark_quick(len(item))
    return replies.bulk(item)


def from_start(value: ListValue, index: int) -> int | None:
    """An index, negative from the end, as one from the start; None if no element is there."""
    length = len(value)
    if index < 0:
        index += length
    return index if 0 <= index < length else None


@command("LRANGE", arity=4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def lrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings; both ends are included. Source: Redis 7.2."""
    start, stop = parse_int(argv.word(2)), parse_int(argv.word(3))
    value: ListValue | None = client.lookup_typed(argv.word(1), ListValue)
    if value is None:
        return replies.EMPTY_ARRAY
    start, end = clip(value, start, stop)
    header = replies.array_header(end - start)
    if end - start <= MANY_ITEMS:
        reply = value.bulks(header, start, end)
        argv.mark_quick(len(reply))
        return reply
    # Copies of the nodes stay as they are, even if the list changes before the last piece is sent.
    spans = [(node.copy(), low, high) for node, low, high in value.spans(start, end)]
    return LongReply(_pieces(header, spans))


def clip(value: ListValue, start: int, stop: int) -> tuple[int, int]:
    """A range, both ends included and negative ones from the end, as the indexes from `start` to
    before `end`; start == end if it is empty."""
    length = len(value)
    start = max(start + length, 0) if start < 0 else start
    stop = stop + length if stop < 0 else min(stop, length - 1)
    return (start, stop + 1) if start <= stop else (0, 0)


def _pieces(header: bytes, spans: Iterable[tuple[ListNode, int, int]]) -> Iterator[bytes]:
    yield header
    for node, low, high in spans:
        yield node.bulks(b"", low, high)


@record
class _Search:
    """The options of LPOS."""

    rank: int = 1
    count: int | None = None
    max_length: int = 0  # how many elements are compared; 0: all


@command("LPOS", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def lpos(client: Client, argv: Request) -> bytes:
    """Integer or null; with COUNT an array of integers. Source: Redis 7.2."""
    search = _parse_search(Arguments(argv, 3))
    value = client.lookup_typed(argv[1], ListValue)
    found = [] if value is None else _find(value, argv[2], search)
    if search.count is not None:
        return replies.array([replies.integer(index) for index in found])
    return replies.integer(found[0]) if found else replies.NIL[client.resp]


def _parse_search(arguments: Arguments) -> _Search:
    search = _Search()
    while arguments:
        option, text = arguments.next_keyword(), arguments.next()
        if option == b"RANK":
            search.rank = _parse_rank(text)
        elif option == b"COUNT":
            search.count = parse_int(text, errors.LPOS_COUNT_NEGATIVE, minimum=0)
        elif option == b"MAXLEN":
            search.max_length = parse_int(text, errors.LPOS_MAXLEN_NEGATIVE, minimum=0)
        else:
            raise ReplyError(errors.SYNTAX)
    return search


def _parse_rank(text: bytes) -> int:
    rank = parse_int(text)
    if not rank:
        raise ReplyError(errors.LPOS_RANK_ZERO)
    if rank == INT64_MIN:  # which has no positive counterpart
        raise ReplyError(errors.LPOS_RANK_RANGE)
    return rank


def _find(value: ListValue, item: bytes, search: _Search) -> list[int]:
    """The indexes that the options ask for, from the end of the list on if the rank is negative."""
    backwards = search.rank < 0
    length = len(value)
    skipped = abs(search.rank) - 1
    if skipped >= length:
        return []
    wanted = 1 if search.count is None else min(search.count or length, length)
    compared = search.max_length or length
    first, last = (length - compared, length - 1) if backwards else (0, compared - 1)
    found = takewhile(lambda i: first <= i <= last, value.find(item, backwards=backwards))
    return list(islice(found, skipped, skipped + wanted))
