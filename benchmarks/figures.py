"""Arithmetic on figures: ratios of pairs, their spread, targets, limits.

Nothing here measures.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

# From this utilization on, a core limits the figure; below it, it waits for others.
FULL_CORE = 0.9
# From this share of the two cores on, other programs disturb the measurement.
DISTURBING = 0.15
# A server that is busy for this share of a measurement after it has deferred work.
PUT_OFF = 0.05


@dataclass(frozen=True)
class Figure:
    """The result of one measurement of one server.

    `server_busy`, `load_busy` and `others_busy` are shares of a core. `later` is the processor time
    that the server used when the load was over, as a share of the measurement. `lines` are shown
    under the figure.
    """

    value: float
    server_busy: float | None = None
    load_busy: float | None = None
    others_busy: float | None = None
    later: float | None = None
    lines: tuple[str, ...] = ()


class Measure(Enum):
    """The quantity of a target."""

    RATIO = "ratio"  # Rillway's figure as a share of Redis's
    VALUE = "value"  # Rillway's figure itself


@dataclass(frozen=True)
class Target:
    """A bound for Rillway: a minimum, or a maximum if lower is better."""

    measure: Measure
    bound: float


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    unit: str = "requests/s"
    lower_is_better: bool = False
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True)
class Spread:
    """The median of several measurements, with their minimum and maximum."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass
class Result:
    """A row with the figures of each pair, in the order in which they were measured.

    `theirs` is empty if Redis does not support it.
    """

    row: Row
    ours: list[Figure] = field(default_factory=list)
    theirs: list[Figure] = field(default_factory=list)

    @property
    def our_value(self) -> float:
        return statistics.median(figure.value for figure in self.ours)

    @property
    def their_value(self) -> float | None:
        return statistics.median(figure.value for figure in self.theirs) if self.theirs else None

    @property
    def ratio(self) -> Spread | None:
        """Rillway / Redis, of each pair."""
        pairs = zip(self.ours, self.theirs, strict=False)
        ratios = [ours.value / theirs.value for ours, theirs in pairs if theirs.value]
        return Spread.of(ratios) if ratios else None

    @property
    def notes(self) -> tuple[str, ...]:
        """The limit, and `later` if one of the two has deferred work."""
        later = any(has_put_off(figures) for figures in (self.ours, self.theirs))
        return tuple(note for note in (self.limit, "later" if later else "") if note)

    @property
    def limit(self) -> str:
        """The worst limit of both figures, if it was not the server."""
        limits = {limit(figures) for figures in (self.ours, self.theirs)}
        return next(name for name in ("others", "load", "waiting", "") if name in limits)


def limit(figures: Sequence[Figure]) -> str:
    """Return the limit of a server's figure.

    `others`: other programs used the same cores. `load`: the load's core was full and the server's
    was not. `waiting`: neither was full, as with one client that sends a request after each reply.
    Empty: the server itself, or unknown.
    """
    server = [figure.server_busy for figure in figures if figure.server_busy is not None]
    load = [figure.load_busy for figure in figures if figure.load_busy is not None]
    others = [figure.others_busy for figure in figures if figure.others_busy is not None]
    if others and statistics.median(others) >= DISTURBING:
        return "others"
    if not server or not load or statistics.median(server) >= FULL_CORE:
        return ""
    return "load" if statistics.median(load) >= FULL_CORE else "waiting"


def has_put_off(figures: Sequence[Figure]) -> bool:
    """Return True if a server went on working after the load."""
    later = [figure.later for figure in figures if figure.later is not None]
    return bool(later) and statistics.median(later) >= PUT_OFF


def is_met(target: Target, result: Result) -> bool | None:
    """Return True if the median keeps the bound; None if there is nothing to compare with."""
    value: float | None = result.our_value
    if target.measure is Measure.RATIO:
        value = result.ratio.median if result.ratio else None
    if value is None:
        return None
    return value <= target.bound if result.row.lower_is_better else value >= target.bound


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by this share of them. Raises ValueError if empty."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def figure_of_delays(delays_ms: Sequence[float]) -> Figure:
    """The 99.9th percentile of what requests had to wait, and the longest."""
    line = f"longest {max(delays_ms):.1f} ms, of {len(delays_ms)} requests"
    return Figure(percentile(delays_ms, 0.999), lines=(line,))
