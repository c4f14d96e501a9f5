"""Lag, pending entries and age of groups over time, sampled every second, ten seconds and minute.

With 24 bytes a sample and 2,100 samples a group, 200 groups take 10 MB. Beyond that, groups that
were opened or are among the worst are kept, the most recent first.
"""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

MAX_GROUPS = 200
# Seconds between samples, and the number kept.
RINGS = ((1, 300), (10, 360), (60, 1440))
SPANS = {"5m": 0, "1h": 1, "1d": 2}
GroupKey: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample at Unix time `time_s`; None is unknown. `age_s`: of the oldest pending entry."""

    time_s: int
    lag: int | None
    pending: int | None
    age_s: float | None


class Ring:
    """The last `length` samples, at least `step_s` seconds apart."""

    def __init__(self, step_s: int, length: int) -> None:
        self._step_s, self._length = step_s, length
        self._times = array("I")
        self._lag, self._pending, self._age = array("d"), array("d"), array("f")
        self._next = 0

    def add(self, sample: Sample) -> None:
        if self._times and sample.time_s < self._newest_s() + self._step_s:
            return
        values = (sample.lag, sample.pending, sample.age_s)
        columns = (self._lag, self._pending, self._age)
        if len(self._times) < self._length:
            self._times.append(sample.time_s)
            for column, value in zip(columns, values, strict=True):
                column.append(math.nan if value is None else value)
        else:
            self._times[self._next] = sample.time_s
            for column, value in zip(columns, values, strict=True):
                column[self._next] = math.nan if value is None else value
        self._next = (self._next + 1) % self._length

    def _newest_s(self) -> int:
        return self._times[self._next - 1]

    def samples(self) -> Iterator[Sample]:
        """Yield the samples, the oldest first."""
        start = self._next if len(self._times) == self._length else 0
        for offset in range(len(self._times)):
            number = (start + offset) % self._length
            lag, pending, age = self._lag[number], self._pending[number], self._age[number]
            yield Sample(
                self._times[number],
                None if math.isnan(lag) else int(lag),
                None if math.isnan(pending) else int(pending),
                None if math.isnan(age) else round(age, 3),
            )


class History:
    """The rings of each group, by stream and group."""

    def __init__(self, max_groups: int = MAX_GROUPS) -> None:
        self._max_groups = max_groups
        self._groups: OrderedDict[GroupKey, tuple[Ring, ...]] = OrderedDict()

    def add(self, group: GroupKey, sample: Sample) -> None:
        if group not in self._groups:
            self._groups[group] = tuple(Ring(*ring) for ring in RINGS)
        self._groups.move_to_end(group)
        for ring in self._groups[group]:
            ring.add(sample)
        while len(self._groups) > self._max_groups:
            self._groups.popitem(last=False)

    def samples(self, group: GroupKey, span: str = "5m") -> list[Sample]:
        """Return samples of a span in SPANS, from a shorter ring if it reaches back far enough."""
        rings = self._groups.get(group)
        return [] if rings is None else list(rings[SPANS[span]].samples())
