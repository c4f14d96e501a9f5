"""LPOP, RPOP and LMPOP: remove elements from an end of a list."""

from __future__ import annotations

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import FAST, MOVABLE_KEYS, WRITE, command, counted_keys, one_key
from commands.lists.blocking_pops import MultiPop, first_of, parse_multi_pop
from commands.lists.ends import LEFT, POPS, RIGHT, SIDES, pop
from protocol import errors, replies
from protocol.request import Request
from storage.types.lists import ListValue


@command("LPOP", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def lpop(client: Client, argv: Request) -> bytes:
    """Bulk string, with a count an array of them; null without the key. Source: Redis 7.2."""
    return _pop(client, argv, b"lpop", LEFT)


@command("RPOP", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def rpop(client: Client, argv: Request) -> bytes:
    """Bulk string, with a count an array of them; null without the key. Source: Redis 7.2."""
    return _pop(client, argv, b"rpop", RIGHT)


def _pop(client: Client, argv: Request, name: bytes, side: bytes) -> bytes:
    if argv.count > 3:
        raise errors.wrong_arity(name)
    key = argv.word(1)
    value: ListValue | None
    if argv.count == 2:
        value = client.lookup_typed_for_write(key, ListValue)
        if value is None:
            return replies.NIL[client.resp]
        item: bytes = pop(client, key, value, side, 1)[0]
        argv.mark_quick(len(item))
        return replies.bulk(item)
    count = parse_int(argv[2], errors.NOT_POSITIVE, minimum=0)
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return replies.NIL_ARRAY[client.resp]
    if not count:
        return replies.EMPTY_ARRAY
    return replies.bulk_array(pop(client, key, value, side, count))


@command(
    "LMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=counted_keys(b"RW", b"ACCESS", b"DELETE")
)
def lmpop(client: Client, argv: Request) -> bytes:
    """Array of the key and its elements; null if no key exists. Source: Redis 7.2."""
    request = parse_multi_pop(Arguments(argv, 1), SIDES)
    return pop_several(request, client) or replies.NIL_ARRAY[client.resp]


def pop_several(request: MultiPop, client: Client) -> bytes | None:
    """Answer LMPOP or BLMPOP; None if no key exists."""
    found = first_of(client, request.keys, ListValue)
    if found is None:
        return None
    key, value = found
    items = pop(client, key, value, request.where, request.count)
    client.propagate(POPS[request.where], key, b"%d" % len(items))
    return replies.array([replies.bulk(key), replies.bulk_array(items)])
