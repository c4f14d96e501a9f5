"""Limits of `rillway lag`: which groups are over them, by their last sample.

An unknown figure is not taken for a small one: what cannot be checked is reported as that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rillway.sampler.trend import GroupSample
from rillway.text import duration


class LagUnknown(Exception):
    """A limit cannot be checked; the text names the group, and says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`lag`: entries not delivered; `oldest_s`: age of the oldest pending entry. None: no limit."""

    lag: int | None = None
    oldest_s: float | None = None

    @property
    def are_set(self) -> bool:
        return self.lag is not None or self.oldest_s is not None

    def exceeded(self, samples: Iterable[GroupSample]) -> list[str]:
        """A line for each limit that a group is over. Raises LagUnknown."""
        return [line for sample in samples for line in self.exceeded_by(sample)]

    def exceeded_by(self, sample: GroupSample) -> Iterator[str]:
        """Raises LagUnknown."""
        name = f"{sample.stream}/{sample.group}"
        if self.lag is not None:
            if sample.lag is None:
                raise LagUnknown(f"{name}: the server does not know the lag")
            if sample.lag > self.lag:
                yield f"{name}: {sample.lag:,} behind, more than {self.lag:,}"
        if self.oldest_s is not None and sample.pending:
            if sample.oldest_ms is None:
                raise LagUnknown(f"{name}: the age of what is pending is unknown")
            if sample.oldest_ms > self.oldest_s * 1000:
                age, limit = duration(sample.oldest_ms), duration(self.oldest_s * 1000)
                yield f"{name}: the oldest pending entry is {age} old, more than {limit}"
