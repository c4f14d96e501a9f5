"""Samples of groups, one after the other: rates, and the time until nothing is left.

A group's rate is what it was given between two samples, the stream's is what was added. Rates are
unknown where a counter is, or went back (the stream was created again, XGROUP SETID).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rillway.pipeline.client.group_samples import GroupSample

RECENT_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class Trend:
    """Between two samples of a group; entries a second. None: unknown."""

    added_rate: float | None
    read_rate: float | None
    lag: int | None

    @property
    def drain_s(self) -> float | None:
        """When the group will have been given everything; None: never at this rate, or unknown."""
        if self.lag == 0:
            return 0.0
        if self.lag is None or self.added_rate is None or self.read_rate is None:
            return None
        gain = self.read_rate - self.added_rate
        return self.lag / gain if gain > 0 else None


@dataclass(slots=True)
class Series:
    """The samples of one group, in the order of time."""

    samples: list[GroupSample] = field(default_factory=list)

    @property
    def recent(self) -> Trend:
        """Over the last few samples: two alone say little."""
        return (
            trend(self.samples[-RECENT_SAMPLES], self.samples[-1])
            if (len(self.samples) >= RECENT_SAMPLES)
            else self.overall
        )

    @property
    def overall(self) -> Trend:
        return trend(self.samples[0], self.samples[-1])

    @property
    def lags(self) -> list[int]:
        """Those that are known."""
        return [sample.lag for sample in self.samples if sample.lag is not None]


class Recording:
    """A series for each group of each stream, by their names."""

    def __init__(self) -> None:
        self.series: dict[tuple[str, str], Series] = {}

    def add(self, samples: Iterable[GroupSample]) -> None:
        for sample in samples:
            names = sample.stream, sample.group
            self.series.setdefault(names, Series()).samples.append(sample)


def trend(before: GroupSample, after: GroupSample) -> Trend:
    """Return the rates between two samples of a group, and the lag at the second."""
    seconds = (after.time_ms - before.time_ms) / 1000
    added = after.stream_entries_added - before.stream_entries_added
    read = None
    if before.entries_read is not None and after.entries_read is not None:
        read = after.entries_read - before.entries_read
    return Trend(_rate(added, seconds), _rate(read, seconds), after.lag)


def _rate(entries: int | None, seconds: float) -> float | None:
    if entries is None or entries < 0 or seconds <= 0:
        return None
    return entries / seconds
