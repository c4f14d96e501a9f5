"""The slow log: the latest requests that took longer than slowlog-log-slower-than.

Bounded in both directions: at most slowlog-max-len entries, each with at most
slowlog-entry-max-argc arguments of slowlog-entry-max-string-len bytes; the last one counts what was
cut off. The caller hides passwords (commands/config/redaction.py).

Source: SLOWLOG of Redis 8.10.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from commands.config.configuration import Configuration
from commands.core.client import Client
from commands.core.instance import Instance
from protocol.records import frozen_record


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
