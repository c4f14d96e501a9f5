"""The outcome of an archiver's round, as lines for people and as one JSON object for programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rillway.pipeline.archive.groups import Holdup
from rillway.pipeline.archive.lease import LeaseTaken
from rillway.pipeline.wire.cluster import away_sentences
from rillway.pipeline.wire.connection import NodeAway
from rillway.pipeline.wire.ids import MIN_ID, MS, format_id, unit_text
from rillway.plurals import count_of


@dataclass(slots=True)
class StreamReport:
    """The outcome of archiving one stream.

    `batches`: the number of batches with entries of the stream; `lag`: an estimate of the entries
    that were not archived at the end, None if it was not determined.
    """

    stream: str
    archived: int = 0
    batches: int = 0
    trimmed: int = 0
    trimmed_by: str = ""
    end: int = MIN_ID
    remaining: int = 0
    epoch: int = 0
    lag: int | None = None
    is_complete: bool = True
    is_missing: bool = False
    unit: str = MS
    holdups: list[Holdup] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RoundOutcome:
    """The outcome of a round: a report for each stream, or the error that excluded it.

    `commits`, `files` and `bytes`: totals of all streams; `conflicts`: commits that were retried;
    `away`: nodes that do not answer, including those that serve none of the streams.
    """

    reports: dict[str, StreamReport] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)
    commits: int = 0
    files: int = 0
    bytes: int = 0
    conflicts: int = 0
    away: Sequence[NodeAway] = ()

    @property
    def archived(self) -> int:
        return sum(report.archived for report in self.reports.values())


# The phase that ends with each step of an archiver (Hooks.reached).
PHASES = {
    "recognised": "recognise",  # includes taking the leases
    "marked": "mark",
    "planned": "plan",
    "written": "write",  # reading, decoding, writing files
    "stated": "state",
    "committed": "commit",
    "mirrored": "mirror",
    "placed": "place",
    "trimmed": "trim",
    "ended": "end",  # leases are released
    "compacted": "compact",
}


class Stopwatch:
    """The seconds of a round by phase. `reached` is called at the end of each."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self.by_phase = dict.fromkeys(PHASES.values(), 0.0)

    def reached(self, step: str) -> None:
        now = self._clock()
        phase = PHASES.get(step, step)
        self.by_phase[phase] = self.by_phase.get(phase, 0.0) + now - self._since
        self._since = now


@dataclass(frozen=True, slots=True)
class Round:
    """A round that has ended. `error`: what ended it early; then the outcome is empty.

    `began_ms`: Unix time; `seconds`: duration without compaction.
    """

    began_ms: int
    seconds: float
    by_phase: Mapping[str, float]
    outcome: RoundOutcome = field(default_factory=RoundOutcome)
    error: str = ""

    @property
    def trimmed(self) -> int:
        return sum(report.trimmed for report in self.outcome.reports.values())


def as_json(one: Round) -> dict[str, Any]:
    """Return a round as plain values; unknown ones are None."""
    outcome = one.outcome
    return {
        "time_ms": one.began_ms,
        "seconds": round(one.seconds, 6),
        "seconds_by_phase": {name: round(value, 6) for name, value in one.by_phase.items()},
        "entries": outcome.archived,
        "trimmed": one.trimmed,
        "commits": outcome.commits,
        "conflicts": outcome.conflicts,
        "files": outcome.files,
        "bytes": outcome.bytes,
        "streams": [_report_as_json(report) for report in outcome.reports.values()],
        "left_out": [
            {"stream": stream, **failure_as_json(failure)}
            for stream, failure in outcome.failures.items()
        ],
        "nodes_away": list(map(str, outcome.away)),
        "error": one.error or None,
    }


def _report_as_json(report: StreamReport) -> dict[str, Any]:
    return {
        "stream": report.stream,
        "archived": report.archived,
        "trimmed": report.trimmed,
        "in_memory": report.remaining,
        "end": None if report.end == MIN_ID else format_id(report.end),
        "epoch": report.epoch or None,
        "lag": report.lag,
        "missing": report.is_missing,
        "id_unit": report.unit,
        "complete": report.is_complete,
        "held_up": list(map(holdup_as_json, report.holdups)),
        "notes": report.notes,
    }


def failure_as_json(failure: Exception) -> dict[str, str]:
    """Return why a stream was left out: the error's class, such as `OtherSource`, and its text."""
    return {"reason": type(failure).__name__, "text": str(failure)}


def holdup_as_json(holdup: Holdup) -> dict[str, Any]:
    """Return a group that holds up a trim as plain values."""
    return {
        "group": holdup.group,
        "reason": holdup.reason,
        "first_needed": format_id(holdup.first_needed),
        "pending": holdup.pending,
        "unread": holdup.unread,
        "since_ms": holdup.since_ms,
    }


# -- lines ----------------------------------------------------------------------------------------


def summary(report: StreamReport) -> str:
    """Return a summary of a report in one line."""
    parts = [f"{report.archived:,} archived"]
    if report.archived:
        parts[0] += f" in {count_of(report.batches, 'batch')}"
    parts.append(f"{report.trimmed:,} trimmed")
    parts.append(f"{report.remaining:,} in memory")
    if report.is_missing:
        parts.append("not in memory at all")
    if report.end != MIN_ID:
        parts.append(f"archived up to {format_id(report.end)}")
    if report.unit != MS:
        parts.append(unit_text(report.unit))
    if report.holdups:
        parts.append("held up by " + ", ".join(holdup.label for holdup in report.holdups))
    return f"{report.stream}: " + "; ".join(parts)


def idle_summary(reports: Sequence[StreamReport]) -> str:
    """Return a line for streams without archived or trimmed entries."""
    if len(reports) == 1:
        return summary(reports[0])
    return f"{count_of(len(reports), 'stream')}: nothing to archive or to trim"


def left_out(outcome: RoundOutcome) -> list[tuple[object, str]]:
    """Return lines that say why streams were left out, each with a key that identifies it.

    There is a line for each stream, but one for all streams of a node that does not answer, and one
    for all that other archivers hold.
    """
    failures = outcome.failures
    away = [one for one in failures.values() if isinstance(one, NodeAway)]
    taken = [str(one) for one in failures.values() if isinstance(one, LeaseTaken)]
    lines: list[tuple[object, str]] = [
        ((stream, type(one)), str(one))
        for stream, one in failures.items()
        if not isinstance(one, NodeAway | LeaseTaken)
    ]
    if taken:
        others = f" (and {count_of(len(taken) - 1, 'more stream')})" if len(taken) > 1 else ""
        lines.append((LeaseTaken, taken[0] + others))
    return [*lines, *((text, text) for text in away_sentences(outcome.away, away))]


def total(outcome: RoundOutcome, seconds: float) -> str:
    """Return a summary of a round of several streams in one line."""
    rate = outcome.archived / max(seconds, 1e-9)
    return (
        f"{count_of(len(outcome.reports), 'stream')}: {outcome.archived:,} archived in "
        f"{count_of(outcome.commits, 'commit')}, {count_of(outcome.files, 'file')}, "
        f"{count_of(outcome.bytes, 'byte')}; {seconds:.1f} s, {rate:,.0f} a second"
    )
