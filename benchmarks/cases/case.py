"""What a case is: rows of the table, and how one server is measured for them.

A case opens a session for each server. Sessions of both live side by side while their measurements
alternate; each prepares what it needs once, and each measurement leaves the server as it found it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from benchmarks.figures import Figure, Row
from benchmarks.servers import Contender

Figures = Mapping[str, Figure]
Measurement = Callable[[], Figures]


@dataclass(frozen=True)
class Scale:
    """How much is measured. Entry counts are multiples of 1,000."""

    seconds: float  # of one measurement of a rate
    pairs: int
    small: int  # entries of the small streams, or pending ones
    entries: int  # of the streams that cases read
    large: int  # of the largest stream
    unacknowledged: int  # messages, in the second latency test
    latency_seconds: float


FULL = Scale(0.5, 5, 10_000, 1_000_000, 10_000_000, 3_000_000, 5.0)
QUICK = Scale(0.25, 3, 10_000, 100_000, 300_000, 300_000, 2.0)

SessionOpener = Callable[[Contender, Scale], AbstractContextManager[Measurement]]


@dataclass(frozen=True)
class Case:
    """Rows that are measured together.

    is_quick: `--quick` measures it even if it is not asked for by name.
    most_pairs: for what takes long and varies little.
    since: the version of Redis that has such a thing first.
    """

    name: str
    rows: tuple[Row, ...]
    open: SessionOpener
    is_quick: bool = False
    has_warm_up: bool = True
    most_pairs: int | None = None
    since: tuple[int, ...] = ()

    def pairs(self, scale: Scale) -> int:
        return scale.pairs if self.most_pairs is None else min(self.most_pairs, scale.pairs)
