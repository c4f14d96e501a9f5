"""Exponents: how the processor time of a request grows with a quantity.

A request's time is the server's processor time for a batch of rounds, divided by their number: it
does not depend on what else the machine does. The exponent is the slope of log(time) over log(size)
from the size on at which the quantity matters: 0 where the time does not depend on it, 1 where it
is proportional. A row is reported if its exponent is larger than Redis's, and the time has grown
enough to tell it from noise.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

import hiredis

from benchmarks.machine import cpu_seconds
from benchmarks.servers import Server, pack

# The sizes of a row are measured as often; the least time counts.
REPEATS = 5
# A batch takes at least as long, unless a single round does.
BATCH_US = 1500.0
MOST_ROUNDS = 64
# After a round that takes longer, the server may have work left.
SETTLE_US = 500.0
# An exponent is larger if it is so by more than noise is.
MARGIN = 0.3
# A time that has grown by less than this is not looked at, nor one that is below Redis's.
GROWN_US = 40.0
RATIO = 1.3
LONGEST_US = 10_000.0
# What is answered after all requests of a batch.
_END = b"the end of the batch"


@dataclass
class Row:
    """The times of one line of requests, in us a round, by size; None where it is refused."""

    text: str
    ours: list[float | None] = field(default_factory=list)
    redis: list[float | None] = field(default_factory=list)

    def is_defect(self, sizes: Sequence[int]) -> bool:
        """Return True if it grows faster than in Redis, or is slow."""
        return self.is_larger(sizes) or self.is_slow()

    def keep_least(self, other: Row) -> None:
        """Take the times of another measurement where they are less."""
        self.ours = list(map(_less, self.ours, other.ours))
        self.redis = list(map(_less, self.redis, other.redis))

    def is_larger(self, sizes: Sequence[int]) -> bool:
        """Return True if it grows faster here than in Redis."""
        ours = [time for time in self.ours if time is not None]
        redis = [time for time in self.redis if time is not None]
        if len(ours) < len(sizes) or len(redis) < len(sizes):
            return False  # a command that Redis does not have
        if ours[-1] - ours[0] < GROWN_US or ours[-1] <= RATIO * redis[-1]:
            return False
        return exponent(sizes, ours) > exponent(sizes, redis) + MARGIN

    def is_slow(self) -> bool:
        """Return True if it takes longer than Redis, and longer than anyone should wait."""
        ours, redis = self.ours[-1], self.redis[-1]
        return ours is not None and redis is not None and ours > max(RATIO * redis, LONGEST_US)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else min(one, other)


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of log(time) over log(size), by least squares; 0 where the time falls."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(time, 0.1)) for time in times]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return max(0.0, above / sum((x - mean_x) ** 2 for x in xs))


def rounds(text: str, first: int, count: int) -> list[bytes]:
    """The requests of `count` rounds."""
    requests = [shlex.split(part) for part in text.split(" ; ")]
    return [
        pack(*(word.replace("$i", str(number)) for word in words))
        for number in range(first, first + count)
        for words in requests
    ]


class Meter:
    """Measures requests on one server, over a connection of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection = server.connect()
        self._number = 0

    def close(self) -> None:
        self._connection.close()

    def time_us(self, text: str) -> float | None:
        """Processor time of a round; None if the first round is refused."""
        first = self._batch_us(text, 1)
        if first is None:
            return None
        count = max(1, min(MOST_ROUNDS, round(BATCH_US / max(first, 1.0))))
        times = [self._batch_us(text, count) for _ in range(REPEATS)]
        if first > SETTLE_US:
            self._server.settle()  # what it has deferred must not be counted for the next row
        # Where the machine is busy, the kernel may count a batch with the next one.
        counted = [time for time in times if time]
        return min(counted) / count if counted else None

    def _batch_us(self, text: str, count: int) -> float | None:
        self._number += count
        data = b"".join(rounds(text, self._number, count))
        before = cpu_seconds(self._server.pid)
        is_refused = self._is_refused(data)
        after = cpu_seconds(self._server.pid)
        return None if is_refused else (after - before) * 1e6

    def _is_refused(self, data: bytes) -> bool:
        """Send requests and an ECHO; return whether a reply before its own is an error."""
        self._connection.sendall(data + pack("ECHO", _END))
        reader, is_refused = hiredis.Reader(), False
        while True:
            reader.feed(self._connection.recv(1 << 20))
            while (reply := reader.gets()) is not False:
                if isinstance(reply, hiredis.ReplyError):
                    is_refused = True
                elif reply == _END:
                    return is_refused
