"""Series of samples of groups: rates, and the time until a group has caught up.

A group's rate counts the entries delivered between two samples, a stream's rate those added. A rate
is unknown if a counter is unknown or decreased (the stream was created again, XGROUP SETID).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rillway.sampler.figures import ConsumerFigures, GroupFigures, StreamFigures
from rillway.sampler.groups import Interval
from rillway.sampler.replies import as_text
from rillway.sampler.waits import schedule_text, waits_text

RECENT_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class GroupSample:
    """A group at `time_ms` of the server's clock, with its stream's position. None is unknown.

    `waits`: sentences about what entries wait for, scheduled ones included.
    """

    stream: str
    group: str
    time_ms: int
    lag: int | None
    pending: int
    entries_read: int | None
    last_delivered_id: str
    stream_length: int
    stream_entries_added: int | None
    stream_last_id: str | None
    oldest_ms: int | None = None
    consumers: tuple[ConsumerFigures, ...] = ()
    due: int | None = None
    delayed: int | None = None
    held: bool | None = None
    dead_letters: int | None = None
    stream_scheduled: int | None = None
    waits: tuple[str, ...] = ()
    waits_for: Mapping[str, int | None] = field(default_factory=dict)


def group_samples(streams: Iterable[StreamFigures]) -> Iterator[GroupSample]:
    """Yield samples of all groups of some streams."""
    for stream in streams:
        for group in stream.groups or ():
            yield GroupSample(
                stream=as_text(stream.name),
                group=as_text(group.name),
                time_ms=stream.time_ms,
                lag=group.lag,
                pending=group.pending,
                entries_read=group.entries_read,
                last_delivered_id=group.last_delivered_id,
                stream_length=stream.length,
                stream_entries_added=stream.entries_added,
                stream_last_id=stream.last_id,
                oldest_ms=group.oldest_ms,
                consumers=group.consumers or (),
                due=group.due,
                delayed=group.delayed,
                held=group.held,
                dead_letters=group.dead_letters,
                stream_scheduled=stream.scheduled,
                waits=waits_sentences(stream, group),
                waits_for=group.waits_for,
            )


def waits_sentences(stream: StreamFigures, group: GroupFigures) -> tuple[str, ...]:
    """Return what the entries of a group wait for, and those that its stream has scheduled."""
    texts = waits_text(group, stream.time_ms), schedule_text(stream, stream.time_ms)
    return tuple(filter(None, texts))


@dataclass(frozen=True, slots=True)
class Trend:
    """The rates between two samples of a group, in entries a second. None is unknown."""

    added_rate: float | None
    read_rate: float | None
    lag: int | None

    @property
    def drain_s(self) -> float | None:
        """The time until the group has caught up; None if it never will, or unknown."""
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
        """The trend over the last few samples: two alone are not significant."""
        return trend(self._window[0], self.samples[-1])

    @property
    def overall(self) -> Trend:
        return trend(self.samples[0], self.samples[-1])

    @property
    def lags(self) -> list[int]:
        """The known lags."""
        return [sample.lag for sample in self.samples if sample.lag is not None]

    @property
    def keeps_up(self) -> bool | None:
        """False if the lag has not shrunk, and was never as small as a moment's reads.

        A moment is a second: a group that reads each entry at once still has a lag of one or two in
        many samples. None while it is undecided.
        """
        window, rate = self._window, self.recent.read_rate
        lags = [sample.lag for sample in window]
        if rate is None or None in lags or len(lags) < RECENT_SAMPLES:
            return None
        known = [lag for lag in lags if lag is not None]
        return min(known) <= rate or known[-1] < known[0]

    @property
    def _window(self) -> list[GroupSample]:
        return self.samples[-RECENT_SAMPLES:]


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
    interval = Interval(after.time_ms, before.time_ms)
    added = interval.rate(before.stream_entries_added, after.stream_entries_added)
    return Trend(added, interval.rate(before.entries_read, after.entries_read), after.lag)
