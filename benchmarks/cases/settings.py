"""The scale of a run, and the settings of servers: directives and data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.servers import Server


@dataclass(frozen=True)
class Scale:
    """The amounts of a run. Entry counts are multiples of 1,000."""

    seconds: float  # of one measurement of a rate
    pairs: int
    small: int  # entries of the small streams, or pending ones
    entries: int  # of the streams that cases read
    large: int  # of the largest stream
    unacknowledged: int  # messages, in the second latency test
    latency_seconds: float


FULL = Scale(0.3, 5, 10_000, 1_000_000, 10_000_000, 3_000_000, 3.0)
QUICK = Scale(0.25, 3, 10_000, 100_000, 300_000, 300_000, 2.0)

Preparation = Callable[[Server, Scale], None]


@dataclass(frozen=True)
class Setting:
    """A server's directives and data. Cases of one setting share a server."""

    name: str
    directives: tuple[str, ...] = ()
    prepare: Preparation | None = None
    is_alone: bool = True  # pinned to one core, with children that save


EMPTY = Setting("empty")
