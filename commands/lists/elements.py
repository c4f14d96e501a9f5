"""The commands on lists, except those that block (commands/lists/blpop.py).

Events come as in Redis: `lpush` or `rpush` for what was pushed, `lpop` or `rpop` for what was
popped, then `del` if nothing is left. LMOVE, RPOPLPUSH and LMOVEM move elements between lists, or
within one (rotation); there the event of the push comes first.
"""

from __future__ import annotations

from itertools import chain, islice, starmap, takewhile

import cython

from commands.core import notifications
from commands.core.arguments import INT64_MAX, INT64_MIN, Arguments, parse_int
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
    one_key,
    two_keys,
)
from commands.lists.blocking_pops import MultiPop, first_of, parse_multi_pop
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.replies import EMPTY_ARRAY, NIL, NIL_ARRAY, OK, ZERO
from protocol.request import Request
from storage.keyspace.deferred_free import NO_WASTE
from storage.types.list_nodes import ListNode
from storage.types.lists import ListValue

LEFT = b"LEFT"
RIGHT = b"RIGHT"
SIDES = (LEFT, RIGHT)

_EVENTS: cython.long = notifications.LIST
_PUSH_EVENTS = {LEFT: b"lpush", RIGHT: b"rpush"}
_POP_EVENTS = {LEFT: b"lpop", RIGHT: b"rpop"}
POPS = {LEFT: b"LPOP", RIGHT: b"RPOP"}


def parse_side(word: bytes) -> bytes:
    """LEFT or RIGHT, in any case. Raises ReplyError."""
    if word == LEFT:
        return LEFT
    if word == RIGHT:
        return RIGHT
    side = word.upper()
    if side not in SIDES:
        raise ReplyError(errors.SYNTAX)
    return side


def push(
    client: Client, key: bytes, value: ListValue | None, side: bytes, items: list[bytes]
) -> ListValue:
    """Push elements, one after the other, to the list at `key`, which is created for None."""
    limits = client.instance.config
    target: ListValue = ListValue(client.instance.now_ms) if value is None else value
    if side == LEFT:
        target.push_left(items, limits)
    else:
        target.push_right(items, limits)
    if value is None:
        client.store(key, target)
    else:
        client.signal_key_as_ready(key)
    client.modified(key, len(items))
    client.notify(_EVENTS, _PUSH_EVENTS[side], key)
    return target


def take(value: ListValue, side: bytes, count: cython.Py_ssize_t) -> list[bytes]:
    """Remove and return up to `count` elements, in order; call `finish_pop` afterwards."""
    return value.pop_left(count) if side == LEFT else value.pop_right(count)


def finish_pop(
    client: Client, key: bytes, value: ListValue, side: bytes, changes: cython.Py_ssize_t
) -> None:
    """Elements were taken from the list at `key`: announce it, and remove an empty list.

    `changes` counts towards the `save` points.
    """
    client.notify(_EVENTS, _POP_EVENTS[side], key)
    after_removal(client, key, value, changes)


def after_removal(client: Client, key: bytes, value: ListValue, changes: cython.Py_ssize_t) -> None:
    """Elements were removed from the list at `key`, and their event was sent."""
    if value._length:
        value.shrink(client.instance.config)
    else:
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)
    client.modified(key, changes)


def pop(
    client: Client, key: bytes, value: ListValue, side: bytes, count: cython.Py_ssize_t
) -> list[bytes]:
    """Take elements, announce it, and remove an empty list."""
    items = take(value, side, count)
    finish_pop(client, key, value, side, len(items))
    return items


# A reply of more elements is built and sent in pieces; a shorter one takes about a millisecond.
MANY_ITEMS = 5000


@command("LLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def llen(client: Client, argv: Request) -> bytes:
    """Integer, 0 without the key. Source: Redis 7.2."""
    value: ListValue | None = client.lookup_typed(argv.word(1), ListValue)
    return replies.integer(0 if value is None else value._length)


@command("LINDEX", arity=3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"), is_quick=True)
def lindex(client: Client, argv: Request) -> bytes:
    """Bulk string; null without the key or the element. Source: Redis 7.2."""
    value: ListValue | None = client.lookup_typed(argv.word(1), ListValue)
    if value is None:
        return NIL[client.resp]
    index = from_start(value, parse_int(argv.word(2)))
    if index is None:
        return NIL[client.resp]
    item = value.at(index)
    return replies.bulk(item)


def from_start(value: ListValue, index: int) -> int | None:
    """An index, negative from the end, as one from the start; None if no element is there."""
    length = len(value)
    if index < 0:
        index += length
    return index if 0 <= index < length else None


@command("LRANGE", arity=4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"), is_quick=True)
def lrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings; both ends are included. Source: Redis 7.2."""
    start, stop = parse_int(argv.word(2)), parse_int(argv.word(3))
    value: ListValue | None = client.lookup_typed(argv.word(1), ListValue)
    if value is None:
        return EMPTY_ARRAY
    start, end = clip(value, start, stop)
    header = replies.array_header(end - start)
    if end - start <= MANY_ITEMS and not _is_long(value, start, end):
        return value.bulks(header, start, end)
    # Copies of the nodes stay as they are, even if the list changes before the last piece is sent.
    spans = [(node.copy(), low, high) for node, low, high in value.spans(start, end)]
    return LongReply(in_pieces(chain((header,), starmap(_bulks_of, spans))))


def clip(value: ListValue, start: cython.long, stop: cython.long) -> tuple[int, int]:
    """A range, both ends included and negative ones from the end, as the indexes from `start` to
    before `end`; start == end if it is empty."""
    length: cython.Py_ssize_t = value._length
    start = max(start + length, 0) if start < 0 else start
    stop = stop + length if stop < 0 else min(stop, length - 1)
    return (start, stop + 1) if start <= stop else (0, 0)


@cython.cfunc
def _is_long(value: ListValue, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Return True if a range of a list has more bytes than a reply that is made at once."""
    if value.memory_bytes() <= LONG_BYTES:
        return False
    size = 0
    for node, low, high in value.spans(start, end):
        size += node.size_bytes() * (high - low) // node.count
    return size > LONG_BYTES


def _bulks_of(node: ListNode, low: int, high: int) -> bytes:
    return node.bulks(b"", low, high)


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
    return replies.integer(found[0]) if found else NIL[client.resp]


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


@command("LSET", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"UPDATE"))
def lset(client: Client, argv: Request) -> bytes:
    """OK; an error without the key or the element. Source: Redis 7.2."""
    _, key, text, item = argv
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    index = from_start(value, parse_int(text))
    if index is None:
        value.prepare(item, client.instance.config)
        raise ReplyError(errors.INDEX_OUT_OF_RANGE)
    value.set(index, item, client.instance.config)
    client.modified(key)
    client.notify(_EVENTS, b"lset", key)
    return OK


@command("LINSERT", arity=5, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"INSERT"))
def linsert(client: Client, argv: Request) -> bytes:
    """Integer: the length; 0 without the key, -1 without the pivot. Source: Redis 7.2."""
    _, key, word, pivot, item = argv
    if word.upper() not in (b"BEFORE", b"AFTER"):
        raise ReplyError(errors.SYNTAX)
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return ZERO
    index = next(value.find(pivot), None)
    if index is None:
        value.prepare(item, client.instance.config)
        return replies.integer(-1)
    value.insert(index, item, client.instance.config, after=word.upper() == b"AFTER")
    client.signal_key_as_ready(key)
    client.modified(key)
    client.notify(_EVENTS, b"linsert", key)
    return replies.integer(len(value))


@command("LREM", arity=4, flags=WRITE, keys=one_key(b"RW", b"DELETE"))
def lrem(client: Client, argv: Request) -> bytes:
    """Integer: how many were removed. A negative count begins at the end. Source: Redis 7.2."""
    key = argv.word(1)
    count: cython.long = parse_int(argv.word(2))
    if count == INT64_MIN:
        raise errors.out_of_range_between(INT64_MIN + 1, INT64_MAX)
    value: ListValue | None = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return ZERO
    removed: cython.Py_ssize_t = value.remove(argv.word(3), count)
    if removed:
        client.notify(_EVENTS, b"lrem", key)
        after_removal(client, key, value, removed)
    return replies.integer(removed)


@command("LTRIM", arity=4, flags=WRITE, keys=one_key(b"RW", b"DELETE"))
def ltrim(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    key = argv.word(1)
    start: cython.long = parse_int(argv.word(2))
    stop: cython.long = parse_int(argv.word(3))
    value: ListValue | None = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return OK
    removed: cython.Py_ssize_t = value._length
    first, end = clip(value, start, stop)
    removed_data = value.trim(first, end)
    if removed_data is not NO_WASTE:
        client.instance.background_work.discard(removed_data)
    removed -= value._length
    client.notify(_EVENTS, b"ltrim", key)
    after_removal(client, key, value, removed)
    return OK


@command("LPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def lpush(client: Client, argv: Request) -> bytes:
    """Integer: the length. Source: Redis 7.2."""
    return _push(client, argv, LEFT, False)


@command("RPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def rpush(client: Client, argv: Request) -> bytes:
    """Integer: the length. Source: Redis 7.2."""
    return _push(client, argv, RIGHT, False)


@command("LPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def lpushx(client: Client, argv: Request) -> bytes:
    """Integer: the length, 0 without the key. Source: Redis 7.2."""
    return _push(client, argv, LEFT, True)


@command("RPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def rpushx(client: Client, argv: Request) -> bytes:
    """Integer: the length, 0 without the key. Source: Redis 7.2."""
    return _push(client, argv, RIGHT, True)


@cython.cfunc
def _push(client: Client, argv: Request, side: bytes, only_if_there: cython.bint) -> bytes:
    key = argv.word(1)
    value: ListValue | None = client.lookup_typed_for_write(key, ListValue)
    if value is None and only_if_there:
        return ZERO
    items = [argv.word(2)] if argv.count == 3 else argv[2:]
    return replies.integer(push(client, key, value, side, items)._length)


@command("LPOP", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def lpop(client: Client, argv: Request) -> bytes:
    """Bulk string, with a count an array of them; null without the key. Source: Redis 7.2."""
    return _pop(client, argv, b"lpop", LEFT)


@command("RPOP", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def rpop(client: Client, argv: Request) -> bytes:
    """Bulk string, with a count an array of them; null without the key. Source: Redis 7.2."""
    return _pop(client, argv, b"rpop", RIGHT)


@cython.cfunc
def _pop(client: Client, argv: Request, name: bytes, side: bytes) -> bytes:
    if argv.count > 3:
        raise errors.wrong_arity(name)
    key = argv.word(1)
    value: ListValue | None
    if argv.count == 2:
        value = client.lookup_typed_for_write(key, ListValue)
        if value is None:
            return NIL[client.resp]
        item: bytes = pop(client, key, value, side, 1)[0]
        return replies.bulk(item)
    count = parse_int(argv[2], errors.NOT_POSITIVE, minimum=0)
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return NIL_ARRAY[client.resp]
    if not count:
        return EMPTY_ARRAY
    return replies.bulk_array(pop(client, key, value, side, count))


@command(
    "LMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=counted_keys(b"RW", b"ACCESS", b"DELETE")
)
def lmpop(client: Client, argv: Request) -> bytes:
    """Array of the key and its elements; null if no key exists. Source: Redis 7.2."""
    request = parse_multi_pop(Arguments(argv, 1), SIDES)
    return pop_several(request, client) or NIL_ARRAY[client.resp]


def pop_several(request: MultiPop, client: Client) -> bytes | None:
    """Answer LMPOP or BLMPOP; None if no key exists."""
    found = first_of(client, request.keys, ListValue)
    if found is None:
        return None
    key, value = found
    items = pop(client, key, value, request.where, request.count)
    client.propagate(POPS[request.where], key, b"%d" % len(items))
    return replies.array([replies.bulk(key), replies.bulk_array(items)])


# The elements of one propagated push.
WORDS_PER_REQUEST = 10_000

MOVED_KEYS = two_keys((b"RW", b"ACCESS", b"DELETE"), (b"RW", b"INSERT"))


@cython.cclass
class Move:
    """The arguments of LMOVE, RPOPLPUSH and LMOVEM; made by `new_move`."""

    __slots__ = (
        "count", "is_exact", "keeps_order", "source", "source_side", "target", "target_side",
    )  # fmt: skip

    source: bytes
    target: bytes
    source_side: bytes
    target_side: bytes
    count: int
    is_exact: bool  # all of `count`, or nothing
    keeps_order: bool  # BULK: they arrive in the order of the source


def new_move(source: bytes, target: bytes, source_side: bytes, target_side: bytes) -> Move:
    """A move of one element, as a C function."""
    request: Move = Move.__new__(Move)
    request.source, request.target = source, target
    request.source_side, request.target_side = source_side, target_side
    request.count = 1
    request.is_exact = request.keeps_order = False
    return request


@command("LMOVE", arity=5, flags=WRITE | DENYOOM, keys=MOVED_KEYS, is_quick=True)
def lmove(client: Client, argv: Request) -> bytes:
    """Bulk string: the element; null without the source. Source: Redis 7.2."""
    request = parse_move(argv)
    return _move_one(client, argv, request)


@command("RPOPLPUSH", arity=3, flags=WRITE | DENYOOM, keys=MOVED_KEYS, is_quick=True)
def rpoplpush(client: Client, argv: Request) -> bytes:
    """Bulk string: the element; null without the source. Source: Redis 7.2."""
    return _move_one(client, argv, new_move(argv.word(1), argv.word(2), RIGHT, LEFT))


@cython.cfunc
def _move_one(client: Client, argv: Request, request: Move) -> bytes:
    items = move(client, request)
    if items is None:
        return NIL[client.resp]
    item: bytes = items[0]
    return replies.bulk(item)


@command("LMOVEM", arity=-5, flags=WRITE | DENYOOM, keys=MOVED_KEYS)
def lmovem(client: Client, argv: Request) -> bytes:
    """Array: the elements in the order in which they are in the destination; empty without the
    source, null where it has fewer than EXACTLY as many. Source: Redis 8.10."""
    request = parse_moves(argv, 5)
    items = move(client, request)
    if items is not None:
        propagate_moves(client, request, items)
        return replies.bulk_array(items)
    return NIL_ARRAY[client.resp] if request.is_exact else EMPTY_ARRAY


def parse_move(argv: Request) -> Move:
    """The words `source destination side side`. Raises ReplyError."""
    source_side, target_side = parse_side(argv.word(3)), parse_side(argv.word(4))
    return new_move(argv.word(1), argv.word(2), source_side, target_side)


def parse_moves(argv: Request, position: int) -> Move:
    """Parse a move whose optional COUNT or EXACTLY is at `position`. Raises ReplyError."""
    request = parse_move(argv)
    arguments = Arguments(argv, position)
    if not arguments:
        return request
    selector = arguments.next_keyword()
    if selector not in (b"COUNT", b"EXACTLY"):
        raise ReplyError(errors.SYNTAX)
    count = arguments.next()
    order = arguments.next_keyword()
    if order not in (b"OBO", b"BULK"):
        raise ReplyError(errors.SYNTAX)
    arguments.finish()
    request.count = parse_int(count, errors.COUNT_NOT_GREATER_THAN_0, minimum=1)
    request.is_exact = selector == b"EXACTLY"
    request.keeps_order = order == b"BULK"
    return request


def move(client: Client, request: Move) -> list[bytes] | None:
    """The elements that were moved, in the order in which they are in the target; None if there
    are none, or too few. Raises WRONGTYPE, and has changed nothing then."""
    source: ListValue | None = client.lookup_typed_for_write(request.source, ListValue)
    if source is None:
        return None
    target: ListValue | None = client.lookup_typed_for_write(request.target, ListValue)
    if request.is_exact and source._length < request.count:
        return None
    items = take(source, request.source_side, request.count)
    if request.keeps_order and request.source_side == request.target_side:
        items.reverse()
    push(client, request.target, target, request.target_side, items)
    # As in Redis, a move is one change: the push has counted it.
    finish_pop(client, request.source, source, request.source_side, 0)
    if len(items) > 1 and request.target_side == LEFT:
        items.reverse()
    return items


def propagate_moves(client: Client, request: Move, items: list[bytes]) -> None:
    """Propagate a move of several elements, in the order of the target, as a push and a pop.

    The push comes first, so that no list is ever empty and loses its time to live in between. Only
    where a list takes its own elements at the same end it comes last, unless they are all.
    """
    source, target, count = request.source, request.target, b"%d" % len(items)
    side, pop_side = request.target_side, request.source_side
    is_own = source == target and side == pop_side
    left = client.db.values.get(source)
    is_whole = isinstance(left, ListValue) and len(left) == len(items)
    if is_own and is_whole:
        side = RIGHT if pop_side == LEFT else LEFT
    push_words = items if side == RIGHT else items[::-1]
    name = b"RPUSH" if side == RIGHT else b"LPUSH"
    pushes = [
        (name, target, *push_words[start : start + WORDS_PER_REQUEST])
        for start in range(0, len(items), WORDS_PER_REQUEST)
    ]
    pops = [(POPS[pop_side], source, count)]
    for one in [*pops, *pushes] if is_own and not is_whole else [*pushes, *pops]:
        client.propagate(*one)
