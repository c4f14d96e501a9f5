"""SLOWLOG GET, LEN, RESET, HELP (the log itself: commands/state/slowlog.py)."""

from __future__ import annotations

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.client import Client
from commands.core.help import help_reply
from commands.core.registry import ADMIN, LOADING, STALE, command, container
from commands.state.slowlog import SlowLog, SlowRequest
from protocol import errors, replies
from protocol.request import Request

DEFAULT_COUNT = 10

container("SLOWLOG")


@command("SLOWLOG GET", arity=-2, flags=ADMIN | LOADING | STALE)
def slowlog_get(client: Client, argv: Request) -> bytes:
    """The newest first: ten of them, `count`, or all for -1."""
    if len(argv) > 3:
        raise errors.subcommand_syntax(b"SLOWLOG", argv[1])
    count = DEFAULT_COUNT
    if len(argv) == 3:
        error = b"ERR count should be greater than or equal to -1"
        count = parse_int(argv[2], error, -1, INT64_MAX)
    return replies.array(
        [_entry(request) for request in client.instance.feature(SlowLog).latest(count)]
    )


def _entry(request: SlowRequest) -> bytes:
    return replies.array(
        [
            replies.integer(request.id),
            replies.integer(request.time_s),
            replies.integer(request.duration_us),
            replies.bulk_array(request.argv),
            replies.bulk(request.address),
            replies.bulk(request.client_name),
            replies.integer(request.words),
        ]
    )


@command("SLOWLOG LEN", arity=2, flags=ADMIN | LOADING | STALE)
def slowlog_len(client: Client, argv: Request) -> bytes:
    """An integer."""
    return replies.integer(len(client.instance.feature(SlowLog)))


@command("SLOWLOG RESET", arity=2, flags=ADMIN | LOADING | STALE)
def slowlog_reset(client: Client, argv: Request) -> bytes:
    """IDs go on from where they were."""
    client.instance.feature(SlowLog).reset()
    return replies.OK


@command("SLOWLOG HELP", arity=2, flags=LOADING | STALE)
def slowlog_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"SLOWLOG",
        b"GET [<count>]",
        b"    The latest <count> slow requests (default: 10, -1: all), each with its id, time,",
        b"    duration in microseconds, arguments, the client's address and its name.",
        b"LEN",
        b"    How many there are.",
        b"RESET",
        b"    Forget them.",
    )
