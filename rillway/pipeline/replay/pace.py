"""When the entries of a replay are due: at once, at a rate, or as far apart as they once were."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

# So that a signal is noticed while there is nothing to write.
MAX_WAIT_SECONDS = 0.25
# What is due in less than that is waited for as long: fractions of a second are not exact.
MIN_WAIT_SECONDS = 0.001


class Pace(Protocol):
    """The pace of a replay, asked repeatedly; `seconds` have passed since the replay began."""

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        """Return how many entries from `begin` on are due now. `sent`: the number sent before."""
        ...

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        """Return the seconds until the next entry, which has this time, is due."""
        ...


class AtOnce:
    """A pace without a limit."""

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        return len(times_ms) - begin

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        return 0.0


@dataclass(slots=True)
class Rate:
    """A rate in entries per second."""

    entries: float

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        return max(min(int(seconds * self.entries) + 1 - sent, len(times_ms) - begin), 0)

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        return max(sent / self.entries - seconds, 0.0)


@dataclass(slots=True)
class Speed:
    """The gaps between the entries' times, `factor` times as short."""

    factor: float
    first_ms: float | None = None

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        if self.first_ms is None:
            self.first_ms = times_ms[begin]
        now_ms = self.first_ms + seconds * 1000 * self.factor
        return bisect_right(times_ms, now_ms, lo=begin) - begin

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        assert self.first_ms is not None
        return max((time_ms - self.first_ms) / 1000 / self.factor - seconds, 0.0)
