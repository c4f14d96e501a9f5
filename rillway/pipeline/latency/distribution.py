"""Distributions of times, counted by the millisecond: percentiles and histograms.

Only the frequency of each number of milliseconds is kept. So parts counted in different processes
add up exactly, and percentiles are exact with either engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

# The classes of the histogram: a millisecond each, and wider ones for long times.
BOUNDS_MS = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 60_000,
)  # fmt: skip
# In thousandths, so that ranks are integers.
PERCENTILES = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999}


@dataclass(slots=True)
class Distribution:
    """Numbers of milliseconds, with the frequency of each."""

    counts: Counter[int] = field(default_factory=Counter)

    def add(self, ms: int, count: int = 1) -> None:
        self.counts[ms] += count

    def merge(self, other: Distribution) -> None:
        self.counts.update(other.counts)

    @property
    def count(self) -> int:
        return self.counts.total()

    @property
    def maximum(self) -> int | None:
        """The greatest time; None if nothing was counted."""
        return max(self.counts, default=None)

    def percentile(self, per_mille: int) -> int | None:
        """The smallest time that this many thousandths of all do not exceed (the nearest rank)."""
        rank = max(-(-self.count * per_mille // 1000), 1)
        for ms, up_to_here in self.cumulative():
            if up_to_here >= rank:
                return ms
        return None

    def percentiles(self) -> dict[str, int | None]:
        """p50, p90, p99, p99.9 and max."""
        found = {name: self.percentile(per_mille) for name, per_mille in PERCENTILES.items()}
        return found | {"max": self.maximum}

    def cumulative(self) -> Iterator[tuple[int, int]]:
        """Yield (milliseconds, number of times that are no longer), ascending."""
        times = sorted(self.counts)
        return zip(times, accumulate(self.counts[ms] for ms in times), strict=True)

    def histogram(self) -> Iterator[tuple[int, int | None, int]]:
        """Yield (start, end, count) of each class that is not empty, in ms; the last has no end."""
        for lower, upper in pairwise((0, *BOUNDS_MS, None)):
            assert lower is not None
            inside = sum(
                count
                for ms, count in self.counts.items()
                if ms >= lower and (upper is None or ms < upper)
            )
            if inside:
                yield lower, upper, inside


@dataclass(slots=True)
class Latencies:
    """The latencies of one group or consumer.

    `pending`: from the last delivery to the acknowledgement; `total`: from the entry's ID to the
    acknowledgement; `count`: the number of acknowledgements. An entry that was given back has no
    last delivery, and an ID need not be a time.
    """

    count: int = 0
    pending: Distribution = field(default_factory=Distribution)
    total: Distribution = field(default_factory=Distribution)

    def merge(self, other: Latencies) -> None:
        self.count += other.count
        self.pending.merge(other.pending)
        self.total.merge(other.total)


@dataclass(slots=True)
class LatencyCounts:
    """The counts of a journal: latencies by group and consumer.

    `unreadable`: the number of entries that are not in the format of a journal.
    """

    latencies: dict[tuple[str, str], Latencies] = field(default_factory=dict)
    unreadable: int = 0

    @property
    def count(self) -> int:
        return sum(one.count for one in self.latencies.values())

    def of(self, group: str, consumer: str) -> Latencies:
        return self.latencies.setdefault((group, consumer), Latencies())

    def merge(self, other: LatencyCounts) -> None:
        for names, latencies in other.latencies.items():
            self.of(*names).merge(latencies)
        self.unreadable += other.unreadable

    def groups(self) -> dict[str, Latencies]:
        """Return the latencies of each group, all consumers together, by name."""
        found: dict[str, Latencies] = {}
        for (group, _), latencies in sorted(self.latencies.items()):
            found.setdefault(group, Latencies()).merge(latencies)
        return found

    def consumers(self, group: str) -> dict[str, Latencies]:
        """Return the latencies of a group's consumers, by name."""
        named = {name: one for (of, name), one in self.latencies.items() if of == group}
        return dict(sorted(named.items()))
