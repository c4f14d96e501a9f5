"""The common part of the blocking pops: BLPOP, BLMPOP, BZPOPMIN and their relatives.

Their keys are tried in the order in which they are named, and the first that exists decides: it is
popped from, or it is of another type and the command fails. If none exists the client waits, and
the command is run again each time that one of the keys holds a value of the right type.

    def bzpopmin(client, argv):
        *keys, timeout = argv[1:]
        timeout_ms = parse_timeout(timeout, client.instance.now_ms)
        return pop_or_wait(client, keys, timeout_ms, SortedSetValue, partial(_serve, keys))

Inside MULTI and in scripts no command waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.strings import long_double
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from storage.types.value import Value

AnyValue = TypeVar("AnyValue", bound=Value)

# Up to this many digits, a number of seconds is within the bounds.
_FEW_DIGITS = 9
_REMEMBERED_TIMEOUTS = 64


def parse_timeout(text: bytes, now_ms: int) -> int:
    """Seconds, with fractions, as milliseconds; 0 is for ever. Raises ReplyError."""
    if text.isdigit() and len(text) <= _FEW_DIGITS:
        return 1000 * int(text)
    timeout_ms = _milliseconds(text)
    if timeout_ms > INT64_MAX - now_ms:
        raise ReplyError(errors.TIMEOUT_OUT_OF_RANGE)
    return timeout_ms


# Programs send the same text again and again, and fractions take long.
@lru_cache(_REMEMBERED_TIMEOUTS)
def _milliseconds(text: bytes) -> int:
    """Seconds as milliseconds, rounded as C's long double is. Raises ReplyError."""
    try:
        timeout_ms = math.ceil(long_double.nearest(long_double.parse(text) * 1000))
    except long_double.NotFinite:
        is_negative = text.startswith(b"-")
        raise ReplyError(
            errors.TIMEOUT_NEGATIVE if is_negative else errors.TIMEOUT_OUT_OF_RANGE
        ) from None
    except ValueError:
        raise ReplyError(errors.TIMEOUT_NOT_A_FLOAT) from None
    if timeout_ms < 0:
        raise ReplyError(errors.TIMEOUT_NEGATIVE)
    return timeout_ms


@record
class MultiPop:
    """The words `numkeys key [key ...] where [COUNT count]` of LMPOP, ZMPOP, BLMPOP, BZMPOP."""

    keys: list[bytes]
    where: bytes  # in upper case: LEFT, MIN, ...
    count: int


def parse_multi_pop(arguments: Arguments, ends: tuple[bytes, bytes]) -> MultiPop:
    """Raises ReplyError. `ends`: the words that `where` may be, in upper case."""
    number = parse_int(arguments.next(), errors.NUMKEYS_NOT_POSITIVE, minimum=1)
    if number >= arguments.remaining:
        raise ReplyError(errors.SYNTAX)
    keys = [arguments.next() for _ in range(number)]
    where = arguments.next_keyword()
    if where not in ends:
        raise ReplyError(errors.SYNTAX)
    count = 1
    if arguments.take(b"COUNT"):
        count = parse_int(arguments.next(), errors.COUNT_NOT_GREATER_THAN_0, minimum=1)
    arguments.finish()
    return MultiPop(keys, where, count)


def first_of(
    client: Client, keys: list[bytes], kind: type[AnyValue]
) -> tuple[bytes, AnyValue] | None:
    """The first of the keys that exists, with its value. Raises WRONGTYPE."""
    for key in keys:
        value = client.lookup_typed_for_write(key, kind)
        if value is not None:
            return key, value
    return None


def pop_or_wait(
    client: Client,
    keys: list[bytes],
    timeout_ms: int,
    kind: type[Value],
    serve: Callable[[Client], bytes | None],
    *,
    null: bytes | None = None,
) -> bytes | Block:
    """The reply of `serve`, or a `Block` that waits until there is one.

    `serve` pops, propagates and returns the encoded reply; None if there is nothing to pop. `null`
    is the reply where the client may not wait; by default the same as after a timeout.
    """
    reply = serve(client)
    if reply is not None:
        return reply
    timeout_reply = replies.NIL_ARRAY[client.resp]
    if client.deny_blocking:
        return timeout_reply if null is None else null
    return Block(keys, timeout_ms, serve, timeout_reply, value_type=kind)
