"""SLOWLOG GET, LEN, RESET, HELP (the log itself: commands/server/slowlog.py)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from commands.config.configuration import Configuration
from commands.core.arguments import INT64_MAX, parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import ADMIN, LOADING, STALE, command
from commands.documentation import help_reply
from protocol import errors, replies
from protocol.records import frozen_record
from protocol.request import Request

DEFAULT_COUNT = 10


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


@frozen_record
class SlowRequest:
    """One entry. `id` grows by one from request to request, over SLOWLOG RESET too."""

    id: int
    time_s: int  # Unix time
    duration_us: int
    argv: list[bytes]
    address: bytes
    client_name: bytes
    words: int  # of the request, those included that were cut off


class SlowLog:
    """A bounded list of slow requests."""

    def __init__(self, instance: Instance) -> None:
        self.config = instance.config
        self._requests: deque[SlowRequest] = deque()  # newest first
        self._next_id = 0

    def __len__(self) -> int:
        return len(self._requests)

    def record(self, client: Client, argv: list[bytes], duration_us: int, now_ms: int) -> None:
        """Add a request that took `duration_us`; `argv` holds no secrets."""
        request = SlowRequest(
            self._next_id,
            now_ms // 1000,
            duration_us,
            shortened(argv, self.config),
            client.address,
            client.name,
            len(argv),
        )
        self._next_id += 1
        self._requests.appendleft(request)
        while len(self._requests) > self.config.slowlog_max_len:
            self._requests.pop()

    def latest(self, count: int) -> Iterator[SlowRequest]:
        """Up to `count` requests, the newest first; -1: all."""
        return islice(self._requests, None if count == -1 else count)

    def reset(self) -> None:
        """Delete all entries."""
        self._requests.clear()


def shortened(argv: list[bytes], config: Configuration) -> list[bytes]:
    """`argv` as the slow log keeps it."""
    kept = argv
    if len(argv) > config.slowlog_entry_max_argc:
        kept = argv[: config.slowlog_entry_max_argc - 1]
    shown = [_shortened_argument(word, config.slowlog_entry_max_string_len) for word in kept]
    if len(kept) < len(argv):
        shown.append(b"... (%d more arguments)" % (len(argv) - len(kept)))
    return shown


def _shortened_argument(argument: bytes, most_bytes: int) -> bytes:
    more = len(argument) - most_bytes
    if more <= 0:
        return argument
    return b"%b... (%d more bytes)" % (argument[:most_bytes], more)
