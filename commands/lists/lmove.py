"""LMOVE, RPOPLPUSH and LMOVEM: move elements between lists, or within one (rotation).

As in Redis, the event of the push comes before that of the pop.
"""

from __future__ import annotations

import cython

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, WRITE, command, two_keys
from commands.lists.ends import LEFT, POPS, RIGHT, finish_pop, parse_side, push, take
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.lists import ListValue

# The elements of one propagated push.
WORDS_PER_REQUEST = 10_000

MOVED_KEYS = two_keys((b"RW", b"ACCESS", b"DELETE"), (b"RW", b"INSERT"))


@cython.cclass
class Move:
    """The arguments of LMOVE, RPOPLPUSH and LMOVEM."""

    __slots__ = (
        "count", "is_exact", "keeps_order", "source", "source_side", "target", "target_side",
    )  # fmt: skip

    def __init__(
        self, source: bytes, target: bytes, source_side: bytes, target_side: bytes
    ) -> None:
        self.source, self.target = source, target
        self.source_side, self.target_side = source_side, target_side
        self.count = 1
        self.is_exact = False  # all of `count`, or nothing
        self.keeps_order = False  # BULK: they arrive in the order of the source


@command("LMOVE", arity=5, flags=WRITE | DENYOOM, keys=MOVED_KEYS)
def lmove(client: Client, argv: Request) -> bytes:
    """Bulk string: the element; null without the source. Source: Redis 7.2."""
    request = parse_move(argv)
    return _move_one(client, argv, request)


@command("RPOPLPUSH", arity=3, flags=WRITE | DENYOOM, keys=MOVED_KEYS)
def rpoplpush(client: Client, argv: Request) -> bytes:
    """Bulk string: the element; null without the source. Source: Redis 7.2."""
    return _move_one(client, argv, Move(argv[1], argv[2], RIGHT, LEFT))


@cython.cfunc
def _move_one(client: Client, argv: Request, request: Move) -> bytes:
    items = move(client, request)
    if items is None:
        return replies.NIL[client.resp]
    item: bytes = items[0]
    argv.mark_quick(len(item))
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
    return replies.NIL_ARRAY[client.resp] if request.is_exact else replies.EMPTY_ARRAY


def parse_move(argv: Request) -> Move:
    """The words `source destination side side`. Raises ReplyError."""
    source_side, target_side = parse_side(argv.word(3)), parse_side(argv.word(4))
    return Move(argv.word(1), argv.word(2), source_side, target_side)


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
