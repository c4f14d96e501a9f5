"""Figures and arithmetic on them: ratios of pairs, their spread, targets, limits.

Nothing here measures.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

# From this utilization on, a core limits the figure; below it, it waits for others.
FULL_CORE = 0.9
# From this share of the two cores on, other programs disturb the measurement.
DISTURBING = 0.15
# From this utilization of its core on, the rate of a program says something of the server.
COUNTED = 0.8
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


@dataclass(frozen=True)
class Target:
    """A bound for Rillway: a minimum, or a maximum if lower is better.

    is_ratio: it bounds Rillway's figure as a share of Redis's, not the figure itself.
    least_busy: the share of its core that a server must use; else neither limits the figure.
    """

    bound: float
    is_ratio: bool = True
    least_busy: float = 0.0


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    unit: str = "requests/s"
    lower_is_better: bool = False
    bounds: tuple[Target, ...] = ()  # beside those of the table TARGETS

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.bounds + TARGETS.get(self.name, ())


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
    """A row with the figures of each pair, in the order in which they were measured."""

    row: Row
    ours: list[Figure] = field(default_factory=list)
    theirs: list[Figure] = field(default_factory=list)
    older: list[Figure] = field(default_factory=list)  # of an earlier Redis; headlines only
    valkey: list[Figure] = field(default_factory=list)

    @property
    def our_value(self) -> float:
        return statistics.median(figure.value for figure in self.ours)

    @property
    def their_value(self) -> float:
        return statistics.median(figure.value for figure in self.theirs)

    @property
    def ratio(self) -> Spread | None:
        """Rillway / Redis, of each pair; None if Redis's figures are all zero."""
        return _ratio(self.ours, self.theirs)

    @property
    def older_ratio(self) -> Spread | None:
        """Rillway / the earlier Redis; None if it was not measured."""
        return _ratio(self.ours, self.older) if self.older else None

    @property
    def valkey_value(self) -> float | None:
        return statistics.median(figure.value for figure in self.valkey) if self.valkey else None

    @property
    def valkey_ratio(self) -> Spread | None:
        """Rillway / Valkey; None if it was not measured."""
        return _ratio(self.ours, self.valkey) if self.valkey else None

    @property
    def busiest(self) -> float:
        """The share of its core that the busier one of Rillway and Redis used."""
        return max(_median(figures, "server_busy") or 0 for figures in (self.ours, self.theirs))

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


def _ratio(ours: Sequence[Figure], theirs: Sequence[Figure]) -> Spread | None:
    pairs = zip(ours, theirs, strict=True)
    ratios = [our.value / their.value for our, their in pairs if their.value]
    return Spread.of(ratios) if ratios else None


def limit(figures: Sequence[Figure]) -> str:
    """Return the limit of a server's figure.

    `others`: other programs used the same cores. `load`: the load's core was full and the server's
    was not. `waiting`: neither was full, as with one client that sends a request after each reply.
    Empty: the server itself, or unknown.
    """
    others, server, load = (
        _median(figures, name) for name in ("others_busy", "server_busy", "load_busy")
    )
    if others is not None and others >= DISTURBING:
        return "others"
    if server is None or load is None or server >= FULL_CORE:
        return ""
    return "load" if load >= FULL_CORE else "waiting"


def has_put_off(figures: Sequence[Figure]) -> bool:
    """Return True if a server went on working after the load."""
    return (_median(figures, "later") or 0) >= PUT_OFF


def _median(figures: Sequence[Figure], name: str) -> float | None:
    values = [getattr(figure, name) for figure in figures]
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def is_met(target: Target, result: Result) -> bool | None:
    """Return True if the median keeps the bound; None if there is no ratio that says something."""
    value: float | None = result.our_value
    if target.is_ratio:
        value = result.ratio.median if result.ratio else None
    if value is None or result.busiest < target.least_busy:
        return None
    return value <= target.bound if result.row.lower_is_better else value >= target.bound


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by this share of them. Raises ValueError if empty."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def percentiles_line(delays_s: Sequence[float]) -> str:
    """The percentiles of what a write had to wait for its replies."""
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    return ", ".join(
        f"{name} {percentile(delays_s, share) * 1000:.2f} ms" for name, share in shares.items()
    )


def figure_of_delays(delays_ms: Sequence[float]) -> Figure:
    """The 99.9th percentile of what requests had to wait, and the longest."""
    line = f"longest {max(delays_ms):.1f} ms, of {len(delays_ms)} requests"
    return Figure(percentile(delays_ms, 0.999), lines=(line,))


# -- the project's targets, by row -----------------------------------------------------------------

TARGETS: dict[str, tuple[Target, ...]] = {
    "console/20-viewers": (Target(1.0, is_ratio=False),),
    "xadd/small-p1-c1": (Target(0.85),),
    "xadd/small-p1-c50": (Target(0.97),),
    "xadd/small-p64-c50": (Target(1.45),),
    "xadd/1KiB-p64-c50": (Target(0.9),),
    "xadd/hundred-streams-p64-c50": (Target(0.9),),
    "xadd/mixed-p16-c50": (Target(1.0),),
    "xadd/mixed-p64-c50": (Target(1.0),),
    "xrange/count-1000": (Target(6.0),),
    "fan-out/100-readers": (Target(2.0),),
    "group/count-1-consumers-10": (Target(0.9),),
    "group/count-10-consumers-10": (Target(0.9),),
    "group/count-100-consumers-1": (Target(1.0),),
    "group/count-100-consumers-10": (Target(2.0),),
    "group/count-100-consumers-100": (Target(1.0),),
    "ping/p64-c50": (Target(0.8),),
    "set/p64-c50": (Target(0.9),),
    "get/p64-c50": (Target(0.9),),
    **{
        f"tls/{name}-p{pipeline}-c50": (Target(0.6),)
        for name in ("xadd-small", "xreadgroup-count-1")
        for pipeline in (1, 16)
    },
    **{
        f"cluster/{kind}-nodes-{nodes}-cpu": (Target(1.1, is_ratio=False),)
        for kind in ("xadd-p16", "group")
        for nodes in (1, 2, 4, 8)
    },
    "watching/top-10k-streams": (Target(1.0, is_ratio=False),),
    "memory/idle-tls-connection": (Target(1.0),),
    "memory/small-entry": (Target(0.58),),
    "memory/small-entry-pending": (Target(0.54),),
    "memory/small-entry-of-own-id": (Target(0.58),),
    "memory/mixed-entry": (Target(0.7),),
    "memory/two-numbers-entry": (Target(0.6),),
    "start/first-pong": (Target(150.0, is_ratio=False),),
    "load/requests": (Target(1.3),),
    "load/snapshot": (Target(1 / 3),),
    # The figures of the project's first latency test.
    **dict.fromkeys(
        ("latency/seeds-within-1ms", "latency/unacknowledged-within-1ms"),
        (Target(1.0), Target(74.11, is_ratio=False)),
    ),
    **dict.fromkeys(
        ("latency/seeds-p99.9", "latency/unacknowledged-p99.9"),
        (Target(1.0), Target(2.0, is_ratio=False)),
    ),
    # Not those whose request itself is of several MB.
    **{
        f"stall/{name}-p99.9": (Target(10.0, is_ratio=False),)
        for name in (
            *("flushall", "del", "xtrim", "keys", "xrange", "script"),
            *("bgsave", "bgrewriteaof", "full-sync", "scrape"),
        )
    },
    **{
        f"scraped/{name}": (Target(0.99, is_ratio=False),)
        for name in ("xadd-small-p16-c50", "count-1-consumers-10", "count-100-consumers-10")
    },
    "stall/bgsave-takes": (Target(3000.0, is_ratio=False),),
}
