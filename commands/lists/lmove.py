"""LMOVE, RPOPLPUSH and LMOVEM: move elements between lists, or within one (rotation).

As in Redis, the event of the push comes before that of the pop.
"""

from __future__ import annotations

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, WRITE, command, two_keys
from commands.lists.ends import LEFT, POPS, RIGHT, finish_pop, parse_side, push, take
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.lists import ListValue

# The elements of one propagated push.
WORDS_PER_REQUEST = 10_000

MOVED_KEYS = two_keys((b"RW", b"ACCESS", b"DELETE"), (b"RW", b"INSERT"))


@record
class Move:
    """The arguments of LMOVE, RPOPLPUSH and LMOVEM."""

    source: bytes
    target: bytes
    source_side: bytes
    target_side: bytes
    count: int = 1
    is_exact: bool = False  # all of `count`, or nothing
    keeps_order: bool = False  # BULK: they arrive in the order of the source


@command("LMOVE", arity=5, flags=WRITE | DENYOOM, keys=MOVED_KEYS)
def lmove(client: Client, argv: Request) -> bytes:
    """Bulk string: the element; null without the source. Source: Redis 7.2."""
    request = parse_move(argv)
    items = move(client, request)
    return replies.NIL[client.resp] if items is None else replies.bulk(items[0])


@command("RPOPLPUSH", arity=3, flags=WRITE | DENYOOM, keys=MOVED_KEYS)
def rpoplpush(client: Client, argv: Request) -> bytes:
    """Bulk string: the element; null without the source. Source: Redis 7.2."""
    items = move(client, Move(argv[1], argv[2], RIGHT, LEFT))
    return replies.NIL[client.resp] if items is None else replies.bulk(items[0])


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
    return Move(argv[1], argv[2], parse_side(argv[3]), parse_side(argv[4]))


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
    source = client.lookup_typed_for_write(request.source, ListValue)
    if source is None:
        return None
    target = client.lookup_typed_for_write(request.target, ListValue)
    if request.is_exact and len(source) < request.count:
        return None
    items = take(source, request.source_side, request.count)
    if request.keeps_order and request.source_side == request.target_side:
        items.reverse()
    push(client, request.target, target, request.target_side, items)
    # As in Redis, a move is one change: the push has counted it.
    finish_pop(client, request.source, source, request.source_side, 0)
    return items if request.target_side == RIGHT else items[::-1]


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
