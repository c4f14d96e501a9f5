"""The lag of groups over time: sampled, compared with limits, drawn.

In a cluster, the groups of all nodes that answer are sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rillway.pipeline.cli.plots import drawn_figure, mark_times_and_counts
from rillway.pipeline.ranges.discovery import check_there, find_streams
from rillway.pipeline.wire.cluster import away_of, away_sentences
from rillway.pipeline.wire.connection import Connection, ConnectionLost, NodeAway
from rillway.pipeline.wire.sampling import group_sampler, sample_groups
from rillway.sampler.trend import GroupSample, Recording
from rillway.text import duration


class Samples:
    """Takes samples of `streams`, and of all streams whose names match `pattern`.

    A node that does not answer is asked again for each sample.
    """

    def __init__(
        self, connection: Connection, streams: Sequence[str] | None, pattern: str | None
    ) -> None:
        """Raises StreamMissing, ConnectionLost."""
        self._connection = connection
        self._streams, self._pattern = tuple(streams or ()), pattern
        self._known = set(self._streams)
        self._away: dict[str, NodeAway] = {}
        connection.leave_out()
        there = [name for name in self._streams if not connection.away(name)]
        check_there(connection, *there, remedy="")
        self._sampler = group_sampler(streams, pattern)
        # A sampler scans one node, and takes names or a pattern, not both.
        self._finds_first = connection.is_cluster or (bool(streams) and pattern is not None)

    @property
    def left_out(self) -> list[str]:
        """A message for each node that did not answer for the last sample."""
        return away_sentences(self._connection.left_out.values(), self._away.values())

    def take(self) -> list[GroupSample]:
        """Take a sample. Raises ConnectionLost for a single server, ServerError."""
        if not self._finds_first:
            return sample_groups(self._connection, self._sampler)
        try:
            return self._take_found()
        except ConnectionLost:
            self._connection.leave_out()
        return self._take_found()

    def _take_found(self) -> list[GroupSample]:
        link = self._connection
        if link.left_out:
            link.leave_out()  # a node may be back
        # SCAN asks one node, and streams may move to other nodes at any time.
        found = set(find_streams(link, self._streams, self._pattern))
        self._known |= found
        self._away = away_of(link, self._known)
        there = sorted(found - self._away.keys())
        return sample_groups(link, group_sampler(there)) if there else []


class LagUnknown(Exception):
    """A limit cannot be checked; the message names the group and the reason."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a group, None for no limit.

    `lag`: undelivered entries; `oldest_s`: the age of the oldest pending entry.
    """

    lag: int | None = None
    oldest_s: float | None = None

    @property
    def are_set(self) -> bool:
        return self.lag is not None or self.oldest_s is not None

    def exceeded(self, samples: Iterable[GroupSample]) -> list[str]:
        """Return a line for each limit that a group exceeds. Raises LagUnknown."""
        return [line for sample in samples for line in self.exceeded_by(sample)]

    def exceeded_by(self, sample: GroupSample) -> Iterator[str]:
        """Yield a line for each limit that the sample exceeds. Raises LagUnknown."""
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


PANELS = {"lag": "not delivered yet, entries", "pending": "not acknowledged yet, entries"}


def draw(recording: Recording, path: Path, title: str) -> None:
    """Write a plot as a PNG file. Raises PlotUnavailable, OSError."""
    with drawn_figure(path, title, columns=len(PANELS)) as panels:
        for panel, (name, label) in zip(panels, PANELS.items(), strict=True):
            for (stream, group), series in sorted(recording.series.items()):
                known = [one for one in series.samples if getattr(one, name) is not None]
                times = [datetime.fromtimestamp(one.time_ms / 1000) for one in known]
                numbers = [getattr(one, name) for one in known]
                panel.plot(times, numbers, marker=".", label=f"{stream}/{group}")
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
            panel.grid(visible=True, alpha=0.3)
            if panel.lines:
                mark_times_and_counts(panel)
                panel.legend(fontsize="small")
