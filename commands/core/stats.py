"""What INFO and LATENCY HISTOGRAM report beside plain counters, which are in instance.py.

The latencies of a command, rates per second, how often a command was slow, figures of scripts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from protocol.records import frozen_record

MAX_DISTINCT = 256
MAX_NS = 1_000_000_000  # a longer latency counts as this
_LAST_BUCKET_END_NS = 2**30 - 1
_BUCKET_BITS = 8


class LatencyHistogram(dict[int, int]):
    """Microseconds -> the number of calls, of those that are not in a bucket yet."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}  # the upper end in nanoseconds -> the number of calls

    def __missing__(self, elapsed_us: int) -> int:
        if len(self) >= MAX_DISTINCT:
            self._fill_buckets()
        return 0

    def __bool__(self) -> bool:
        return bool(self._buckets) or len(self) > 0

    def _fill_buckets(self) -> None:
        buckets = self._buckets
        for elapsed_us, count in self.items():
            end_ns = bucket_end_ns(min(max(elapsed_us * 1000, 1), MAX_NS))
            buckets[end_ns] = buckets.get(end_ns, 0) + count
        self.clear()

    def _in_order(self) -> list[tuple[int, int]]:
        """(upper end in nanoseconds, number of calls) of each bucket with calls, ascending."""
        self._fill_buckets()
        return sorted(self._buckets.items())

    @property
    def calls(self) -> int:
        """The number of latencies counted."""
        return sum(self.values()) + sum(self._buckets.values())

    def percentiles_us(self, percentiles: list[float]) -> list[float]:
        """For each percentile, the latency in microseconds that this share did not exceed."""
        calls, buckets = self.calls, self._in_order()
        return [_latency_at(buckets, max(1, round(calls * p / 100))) for p in percentiles]

    def cumulative_us(self) -> list[tuple[int, int]]:
        """(microseconds, number of calls that took no longer), at powers of two where it grows."""
        rows: list[tuple[int, int]] = []
        below, limit_ns, row_end_ns = 0, 1024, 0
        for end_ns, count in self._in_order():
            below += count
            if end_ns > row_end_ns:
                while bucket_end_ns(limit_ns) < end_ns:
                    limit_ns *= 2
                row_end_ns = bucket_end_ns(limit_ns)
                rows.append((0, 0))
            rows[-1] = min(row_end_ns, _LAST_BUCKET_END_NS) // 1000, below
        return rows


def bucket_ends_us() -> Iterator[int]:
    """All ends that `cumulative_us` may report, ascending."""
    limit_ns = 1024
    while limit_ns <= _LAST_BUCKET_END_NS + 1:
        yield min(bucket_end_ns(limit_ns), _LAST_BUCKET_END_NS) // 1000
        limit_ns *= 2


def bucket_end_ns(value_ns: int) -> int:
    """The upper end of the HdrHistogram bucket that holds `value_ns`."""
    dropped_bits = max(0, value_ns.bit_length() - _BUCKET_BITS)
    return (((value_ns >> dropped_bits) + 1) << dropped_bits) - 1


def _latency_at(buckets: list[tuple[int, int]], rank: int) -> float:
    """The latency of the call at `rank`, from 1, as Redis prints it. 0 for no calls."""
    for end_ns, count in buckets:
        rank -= count
        if rank <= 0:
            return end_ns / 1000
    return 0.0


SAMPLES = 16  # a rate is the mean over the last 1.6 s, as in Redis


class SlowCommands:
    """How often a command was slow, as the slow log sees it."""

    def __init__(self) -> None:
        self.count = self.us = self.longest_us = 0

    def add(self, elapsed_us: int) -> None:
        """Count one more."""
        self.count += 1
        self.us += elapsed_us
        self.longest_us = max(self.longest_us, elapsed_us)


class Rate:
    """The growth of a counter per second."""

    def __init__(self) -> None:
        self._rates: deque[float] = deque([0.0] * SAMPLES, maxlen=SAMPLES)
        self._total = 0

    def sample(self, total: int, elapsed_ms: int) -> None:
        """Add a sample: the counter is at `total`, `elapsed_ms` milliseconds after the last one."""
        self._rates.append(max(0, total - self._total) * 1000 / elapsed_ms)
        self._total = total

    def per_second(self) -> float:
        """The mean of the latest samples."""
        return sum(self._rates) / SAMPLES


@frozen_record
class ScriptingFigures:
    """The figures on scripts and functions in INFO; the defaults are those without any."""

    eval_bytes: int = 0  # of the interpreter for scripts
    function_bytes: int = 0  # of the one for functions
    script_bytes: int = 0  # of texts
    library_bytes: int = 0
    scripts: int = 0
    libraries: int = 0
    functions: int = 0
    evicted_scripts: int = 0
