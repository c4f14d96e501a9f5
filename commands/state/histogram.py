"""Latency histograms by microsecond, and the forms in which Redis reports them.

`LatencyHistogram` is a dictionary from microseconds to the number of calls: the dispatcher counts
with `histogram[elapsed_us] += 1`, which is as cheap as counting gets in Python. It stays small
because it merges neighbouring values whenever it has grown too large.

Redis counts in an HdrHistogram of nanoseconds with two significant digits, up to one second; what
INFO latencystats and LATENCY HISTOGRAM print are the upper ends of its buckets. `bucket_end_ns`
gives those ends, so that the same latencies print the same numbers here.
"""

from __future__ import annotations

MAX_DISTINCT = 2048
MAX_NS = 1_000_000_000  # a longer latency counts as this
_LAST_BUCKET_END_NS = 2**30 - 1
_KEPT_BITS = 9  # of a value that is rounded: finer than the buckets of HdrHistogram
_BUCKET_BITS = 8


class LatencyHistogram(dict[int, int]):
    """Microseconds -> the number of calls."""

    def __missing__(self, elapsed_us: int) -> int:
        if len(self) >= MAX_DISTINCT:
            self._coarsen()
        return 0

    def _coarsen(self) -> None:
        """Merge neighbours: at most 256 values are left for each power of two."""
        counts: dict[int, int] = {}
        for elapsed_us, count in self.items():
            dropped_bits = max(0, elapsed_us.bit_length() - _KEPT_BITS)
            rounded_us = elapsed_us >> dropped_bits << dropped_bits
            counts[rounded_us] = counts.get(rounded_us, 0) + count
        self.clear()
        self.update(counts)

    @property
    def calls(self) -> int:
        """The number of latencies counted."""
        return sum(self.values())

    def percentiles_us(self, percentiles: list[float]) -> list[float]:
        """For each percentile, the latency in microseconds that this share did not exceed."""
        calls, counts = self.calls, sorted(self.items())
        return [_latency_at(counts, max(1, round(calls * p / 100))) for p in percentiles]

    def cumulative_us(self) -> list[tuple[int, int]]:
        """(microseconds, number of calls that took no longer), at powers of two where it grows."""
        rows: list[tuple[int, int]] = []
        below, limit_ns = 0, 1024
        for elapsed_us, count in sorted(self.items()):
            while min(elapsed_us * 1000, MAX_NS) > bucket_end_ns(limit_ns):
                limit_ns *= 2
            below += count
            row = (min(bucket_end_ns(limit_ns), _LAST_BUCKET_END_NS) // 1000, below)
            if rows and rows[-1][0] == row[0]:
                rows[-1] = row
            else:
                rows.append(row)
        return rows


def bucket_end_ns(value_ns: int) -> int:
    """The upper end of the HdrHistogram bucket that holds `value_ns`."""
    dropped_bits = max(0, value_ns.bit_length() - _BUCKET_BITS)
    return (((value_ns >> dropped_bits) + 1) << dropped_bits) - 1


def _latency_at(counts: list[tuple[int, int]], rank: int) -> float:
    """The latency of the call at `rank`, from 1, as Redis prints it. 0 for no calls."""
    for elapsed_us, count in counts:
        rank -= count
        if rank <= 0:
            return bucket_end_ns(min(max(elapsed_us * 1000, 1), MAX_NS)) / 1000
    return 0.0
