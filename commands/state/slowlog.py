"""The slow log: the latest requests that took longer than slowlog-log-slower-than.

Bounded in both directions: at most slowlog-max-len entries, each with at most 32 arguments of 128
bytes; the last one counts what was cut off. The caller hides passwords
(commands/config/redaction.py).

Source: SLOWLOG of Redis 7.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from commands.core.client import Client
from commands.core.instance import Instance
from protocol.records import frozen_record

MAX_ARGUMENTS = 32
MAX_ARGUMENT_BYTES = 128


@frozen_record
class SlowRequest:
    """One entry. `id` grows by one from request to request, over SLOWLOG RESET too."""

    id: int
    time_s: int  # Unix time
    duration_us: int
    argv: list[bytes]
    address: bytes
    client_name: bytes


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
            shortened(argv),
            client.address,
            client.name,
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


def shortened(argv: list[bytes]) -> list[bytes]:
    """`argv` as the slow log keeps it."""
    kept = argv
    if len(argv) > MAX_ARGUMENTS:
        kept = argv[: MAX_ARGUMENTS - 1]
    shown = [_shortened_argument(argument) for argument in kept]
    if len(kept) < len(argv):
        shown.append(b"... (%d more arguments)" % (len(argv) - len(kept)))
    return shown


def _shortened_argument(argument: bytes) -> bytes:
    more = len(argument) - MAX_ARGUMENT_BYTES
    if more <= 0:
        return argument
    return b"%b... (%d more bytes)" % (argument[:MAX_ARGUMENT_BYTES], more)
