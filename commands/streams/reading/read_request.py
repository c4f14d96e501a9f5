"""The request that XREAD and XREADGROUP share (Redis 7.4), parsed once.

    [GROUP group consumer] [COUNT count] [MAXCOUNT entries] [MAXSIZE bytes] [BLOCK ms]
    [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]

A blocked client's request runs again each time one of its keys is ready, on the parsed form. The
IDs stay text here, because their meaning depends on the command, and because Redis checks each key
before that key's ID.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.blocking.blocked_clients import Block
from commands.core.client import Client
from commands.core.long_reply import LongReply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.requests import Argv

ALL = -1  # the count of a read that is not limited

# A timeout up to this one never overflows a deadline.
_ALWAYS_IN_RANGE_MS = 1 << 62


@record
class ReadRequest:
    """A parsed request. `group` and `consumer` are b"" for XREAD, which has no such option."""

    keys: list[bytes]
    ids: list[bytes]  # one for each key, as sent
    count: int  # entries of each stream; ALL
    block_ms: int | None  # None: do not wait, 0: for ever
    group: bytes
    consumer: bytes
    noack: bool
    min_idle_ms: int | None = None  # CLAIM; None: claim nothing
    max_count: int = ALL  # entries of all streams
    max_size: int = ALL  # bytes of the reply

    @property
    def is_capped(self) -> bool:
        """True if MAXCOUNT or MAXSIZE is given."""
        return self.max_count != ALL or self.max_size != ALL

    @property
    def is_timeless(self) -> bool:
        """True if parsing does not depend on the time: only long timeouts can overflow."""
        return self.block_ms is None or self.block_ms <= _ALWAYS_IN_RANGE_MS


def parse_read_request(argv: Argv, now_ms: int, *, with_group: bool) -> ReadRequest:
    """Parse either command. The options come in any order, STREAMS last. Raises ReplyError."""
    count, block_ms, noack = ALL, None, False
    group = consumer = min_idle_ms = None
    caps = {b"MAXCOUNT": ALL, b"MAXSIZE": ALL}
    last = len(argv) - 1
    position = 1
    # A hot path: readers send this many times a second, so there is no cursor object.
    while position <= last:
        option = argv[position].upper()
        if option == b"STREAMS" and position < last:
            break
        if option == b"COUNT" and position < last:
            # Unlike in XRANGE, zero and less mean no limit.
            count = parse_int(argv[position + 1])
            position += 2
        elif option == b"BLOCK" and position < last:
            block_ms = parse_block(argv[position + 1], now_ms)
            position += 2
        elif option == b"GROUP" and position + 1 < last:
            if not with_group:
                raise ReplyError(errors.XREAD_WITH_GROUP)
            group, consumer = argv[position + 1], argv[position + 2]
            position += 3
        elif option == b"NOACK":
            if not with_group:
                raise ReplyError(errors.XREAD_WITH_NOACK)
            noack = True
            position += 1
        elif option == b"CLAIM" and position < last:
            if not with_group:
                raise ReplyError(errors.XREAD_WITH_CLAIM)
            min_idle_ms = _parse_min_idle(argv[position + 1])
            position += 2
        elif option in caps and position < last:
            caps[option] = parse_int(argv[position + 1], errors.not_positive(option).text, 1)
            position += 2
        else:
            raise ReplyError(errors.SYNTAX)
    else:
        raise ReplyError(errors.SYNTAX)  # without STREAMS
    streams, odd = divmod(last - position, 2)
    if odd:
        raise ReplyError(errors.XREADGROUP_UNBALANCED if with_group else errors.XREAD_UNBALANCED)
    if with_group and group is None:
        raise ReplyError(errors.XREADGROUP_WITHOUT_GROUP)
    if ALL < caps[b"MAXCOUNT"] < count:
        raise ReplyError(errors.MAXCOUNT_BELOW_COUNT)
    first_id = position + 1 + streams
    return ReadRequest(
        argv[position + 1 : first_id],
        argv[first_id:],
        count if count > 0 else ALL,
        block_ms,
        group or b"",
        consumer or b"",
        noack,
        min_idle_ms,
        caps[b"MAXCOUNT"],
        caps[b"MAXSIZE"],
    )


def _parse_min_idle(text: bytes) -> int:
    min_idle_ms = parse_int(text, errors.CLAIM_NOT_AN_INTEGER)
    if min_idle_ms < 0:
        raise ReplyError(errors.CLAIM_NEGATIVE)
    return min_idle_ms


def parse_block(text: bytes, now_ms: int) -> int:
    """A timeout in milliseconds. Raises ReplyError."""
    timeout_ms = parse_int(text, errors.TIMEOUT_NOT_AN_INTEGER)
    if timeout_ms < 0:
        raise ReplyError(errors.TIMEOUT_NEGATIVE)
    if timeout_ms > INT64_MAX - now_ms:
        raise ReplyError(errors.TIMEOUT_OUT_OF_RANGE)
    return timeout_ms


# The number of arguments of each option, to find STREAMS after the options.
_OPTION_WORDS = {
    b"BLOCK": 1, b"COUNT": 1, b"GROUP": 2, b"NOACK": 0, b"CLAIM": 1, b"MAXCOUNT": 1, b"MAXSIZE": 1,
}  # fmt: skip


def key_positions(argv: Sequence[bytes]) -> list[int]:
    """The positions of the keys; empty if the request is invalid.

    A key specification cannot express them: it would take a group or a consumer of the name STREAMS
    for the keyword.
    """
    position = 1
    while position < len(argv) and argv[position].upper() != b"STREAMS":
        words = _OPTION_WORDS.get(argv[position].upper())
        if words is None:
            return []
        position += 1 + words
    first = position + 1
    streams, odd = divmod(len(argv) - first, 2)
    return [] if odd or streams < 1 else list(range(first, first + streams))


# -- replies -----------------------------------------------------------------------------------


def stream_header(key: bytes, length: int, resp: int) -> bytes:
    """The encoded header before the `length` entries of one stream."""
    if resp == 3:
        return b"$%d\r\n%b\r\n*%d\r\n" % (len(key), key, length)
    return b"*2\r\n$%d\r\n%b\r\n*%d\r\n" % (len(key), key, length)


def open_header(key: bytes, resp: int) -> bytes:
    """The header of a reply for one stream, up to the number of its entries."""
    return read_header(1, resp) + stream_header(key, 0, resp).removesuffix(b"0\r\n")


def read_reply(streams: int, parts: list[bytes], resp: int) -> bytes:
    """The whole reply: a map in RESP3, an array of pairs in RESP2."""
    return b"".join([read_header(streams, resp), *parts])


def read_header(streams: int, resp: int) -> bytes:
    """The encoded header of a reply with `streams` streams."""
    return b"%%%d\r\n" % streams if resp == 3 else b"*%d\r\n" % streams


def nothing_to_read(
    client: Client,
    request: ReadRequest,
    retry: Callable[[Client], bytes | Block | LongReply | None],
    *,
    on_missing_key: bool,
    wake_ms: int | None = None,
) -> bytes | Block:
    """Wait if the request says so and the client may; otherwise null, as after a timeout."""
    nothing = replies.NIL_ARRAY[client.resp]
    if request.block_ms is None or client.deny_blocking:
        return nothing
    return Block(request.keys, request.block_ms, retry, nothing, on_missing_key, wake_ms)
