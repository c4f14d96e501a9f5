"""BLPOP, BRPOP, BLMPOP, BLMOVE, BRPOPLPUSH and BLMOVEM: wait for a list to have elements.

They are propagated as the commands without waiting: LPOP, RPOP, LMOVE, RPOPLPUSH. BLMOVEM is a
push and a pop.
"""

from __future__ import annotations

from functools import partial

from commands.core.arguments import Arguments
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.registry import (
    BLOCKING,
    DENYOOM,
    MOVABLE_KEYS,
    WRITE,
    KeySpec,
    command,
    counted_keys,
)
from commands.lists.blocking_pops import first_of, parse_multi_pop, parse_timeout, pop_or_wait
from commands.lists.elements import (
    LEFT,
    MOVED_KEYS,
    POPS,
    RIGHT,
    SIDES,
    Move,
    move,
    new_move,
    parse_move,
    parse_moves,
    pop,
    pop_several,
    propagate_moves,
)
from protocol import replies
from protocol.request import Request
from protocol.requests import Argv
from storage.types.lists import ListValue

_KEYS_AND_TIMEOUT = (KeySpec(begin=1, last=-2, flags=(b"RW", b"ACCESS", b"DELETE")),)


@command("BLPOP", arity=-3, flags=WRITE | BLOCKING, keys=_KEYS_AND_TIMEOUT)
def blpop(client: Client, argv: Request) -> bytes | Block:
    """Array of key and element, null after the timeout. Source: Redis 7.2."""
    return _pop_or_wait(client, argv, LEFT)


@command("BRPOP", arity=-3, flags=WRITE | BLOCKING, keys=_KEYS_AND_TIMEOUT)
def brpop(client: Client, argv: Request) -> bytes | Block:
    """Array of key and element, null after the timeout. Source: Redis 7.2."""
    return _pop_or_wait(client, argv, RIGHT)


def _pop_or_wait(client: Client, argv: Request, side: bytes) -> bytes | Block:
    keys = argv[1:-1]
    timeout_ms = parse_timeout(argv[-1], client.instance.now_ms)
    return pop_or_wait(client, keys, timeout_ms, ListValue, partial(_pop_one, keys, side))


def _pop_one(keys: list[bytes], side: bytes, client: Client) -> bytes | None:
    found = first_of(client, keys, ListValue)
    if found is None:
        return None
    key, value = found
    items = pop(client, key, value, side, 1)
    client.propagate(POPS[side], key)
    return replies.bulk_array([key, *items])


@command(
    "BLMPOP",
    arity=-5,
    flags=WRITE | BLOCKING | MOVABLE_KEYS,
    keys=counted_keys(b"RW", b"ACCESS", b"DELETE", at=2),
)
def blmpop(client: Client, argv: Request) -> bytes | Block:
    """Array of the key and its elements, null after the timeout. Source: Redis 7.2."""
    request = parse_multi_pop(Arguments(argv, 2), SIDES)
    timeout_ms = parse_timeout(argv[1], client.instance.now_ms)
    serve = partial(pop_several, request)
    return pop_or_wait(client, request.keys, timeout_ms, ListValue, serve)


@command("BLMOVE", arity=6, flags=WRITE | DENYOOM | BLOCKING, keys=MOVED_KEYS)
def blmove(client: Client, argv: Request) -> bytes | Block:
    """Bulk string: the element; null after the timeout. Source: Redis 7.2."""
    request = parse_move(argv)
    timeout_ms = parse_timeout(argv[5], client.instance.now_ms)
    return _move_or_wait(client, request, timeout_ms, [b"LMOVE", *argv[1:5]])


@command("BRPOPLPUSH", arity=4, flags=WRITE | DENYOOM | BLOCKING, keys=MOVED_KEYS)
def brpoplpush(client: Client, argv: Request) -> bytes | Block:
    """Bulk string: the element; null after the timeout. Source: Redis 7.2."""
    _, source, target, timeout = argv
    timeout_ms = parse_timeout(timeout, client.instance.now_ms)
    request = new_move(source, target, RIGHT, LEFT)
    return _move_or_wait(client, request, timeout_ms, [b"RPOPLPUSH", source, target])


def _move_or_wait(
    client: Client, request: Move, timeout_ms: int, propagated: Argv
) -> bytes | Block:
    serve = partial(_move_one, request, propagated)
    null = replies.NIL[client.resp]
    return pop_or_wait(client, [request.source], timeout_ms, ListValue, serve, null=null)


def _move_one(request: Move, propagated: Argv, client: Client) -> bytes | None:
    items = move(client, request)
    if items is None:
        return None
    client.propagate(*propagated)
    return replies.bulk(items[0])


@command("BLMOVEM", arity=-6, flags=WRITE | DENYOOM | BLOCKING, keys=MOVED_KEYS)
def blmovem(client: Client, argv: Request) -> bytes | Block:
    """Array of the elements as in LMOVEM; null after the timeout. With COUNT it waits for any
    element, with EXACTLY until there are enough. Source: Redis 8.10."""
    request = parse_moves(argv, 6)
    timeout_ms = parse_timeout(argv[5], client.instance.now_ms)
    serve = partial(_move_several, request)
    return pop_or_wait(client, [request.source], timeout_ms, ListValue, serve)


def _move_several(request: Move, client: Client) -> bytes | None:
    items = move(client, request)
    if items is None:
        return None
    propagate_moves(client, request, items)
    return replies.bulk_array(items)
