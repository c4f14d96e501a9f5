"""Metrics of rounds in the text format of Prometheus, for node_exporter's textfile collector.

A file serves both an archiver that runs for hours and one that a timer starts for each round. It is
replaced as a whole after each round. Counters continue from the values in the file, so they survive
restarts.

Source: the exposition formats in Prometheus's documentation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rillway.pipeline.archive.report.rounds import Round, StreamReport
from rillway.pipeline.wire.connection import NodeAway
from rillway.pipeline.wire.ids import time_ms

PREFIX = "rillway_archive_"
# Each stream has several series.
MAX_STREAMS = 1_000
COUNTERS = {
    "rounds_total": "Rounds that have ended.",
    "failed_rounds_total": "Rounds that failed.",
    "entries_total": "Archived entries.",
    "trimmed_entries_total": "Entries that were trimmed after they were archived.",
    "commits_total": "Commits of the table.",
    "conflicts_total": "Commits that were retried because another one came first.",
    "files_total": "Files that were written.",
    "written_bytes_total": "Bytes of these files.",
    "phase_seconds_total": "Time of the rounds by phase.",
}
GAUGES = {
    "last_round_timestamp_seconds": "When the last round began.",
    "last_success_timestamp_seconds": "When the last successful round began.",
    "last_round_seconds": "Time of the last round, without compaction.",
    "streams": "Streams of the last round.",
    "streams_left_out": "Streams of the last round that were refused, lost, or taken by others.",
    "nodes_away": "Nodes of a cluster that did not answer in the last round.",
    "streams_away": "Streams of the last round whose nodes did not answer.",
    "streams_omitted": "Streams that are not shown, as there are too many.",
    "stream_end_timestamp_seconds": "The time of the last archived ID.",
    "stream_lag_entries": "Entries that are not archived yet.",
    "stream_memory_entries": "Entries in memory.",
    "stream_epoch": "The present epoch.",
    "stream_held_up_seconds": "For how long a group has been holding up the trim.",
    "stream_left_out": "1 for a stream that was left out, and why.",
}
SAMPLE = re.compile(rf"^{PREFIX}(\w+?)(\{{.*\}})? (\S+)$")
LAST_SUCCESS = "last_success_timestamp_seconds"

# The name without the prefix, and the labels with their braces.
Series = tuple[str, str]


class MetricsFile:
    """The metrics file and its counters."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = dict(_kept(path))

    def add(self, one: Round) -> None:
        """Add a round and replace the file. Raises OSError."""
        self._count(one)
        gauges = dict(_gauges(one))
        if not one.error:
            self._kept[LAST_SUCCESS, ""] = one.began_ms / 1000
        text = "".join(_lines(self._kept | gauges))
        # The collector reads only files that end in .prom.
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(self._path)

    def _count(self, one: Round) -> None:
        outcome = one.outcome
        added: dict[Series, float] = {
            ("rounds_total", ""): 1,
            ("failed_rounds_total", ""): bool(one.error),
            ("entries_total", ""): outcome.archived,
            ("trimmed_entries_total", ""): one.trimmed,
            ("commits_total", ""): outcome.commits,
            ("conflicts_total", ""): outcome.conflicts,
            ("files_total", ""): outcome.files,
            ("written_bytes_total", ""): outcome.bytes,
        } | {
            ("phase_seconds_total", _labels(phase=phase)): seconds
            for phase, seconds in one.by_phase.items()
        }
        for series, value in added.items():
            self._kept[series] = self._kept.get(series, 0) + value


def _kept(path: Path) -> Iterator[tuple[Series, float]]:
    """The counters of the previous file; none if it is missing or has another format."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        found = SAMPLE.match(line)
        if found is not None and (found[1] in COUNTERS or found[1] == LAST_SUCCESS):
            yield (found[1], found[2] or ""), float(found[3])


def _gauges(one: Round) -> Iterator[tuple[Series, float]]:
    outcome = one.outcome
    yield ("last_round_timestamp_seconds", ""), one.began_ms / 1000
    yield ("last_round_seconds", ""), one.seconds
    yield ("streams", ""), len(outcome.reports) + len(outcome.failures)
    yield ("streams_left_out", ""), len(outcome.failures)
    away = sum(isinstance(failure, NodeAway) for failure in outcome.failures.values())
    yield ("streams_away", ""), away
    yield ("nodes_away", ""), len(outcome.away)
    shown = sorted(outcome.reports)[:MAX_STREAMS]
    left_out = sorted(outcome.failures)[:MAX_STREAMS]
    omitted = len(outcome.reports) + len(outcome.failures) - len(shown) - len(left_out)
    yield ("streams_omitted", ""), omitted
    for name in shown:
        yield from _of_stream(outcome.reports[name])
    for name in left_out:
        reason = type(outcome.failures[name]).__name__
        yield ("stream_left_out", _labels(stream=name, reason=reason)), 1


def _of_stream(report: StreamReport) -> Iterator[tuple[Series, float]]:
    labels = _labels(stream=report.stream)
    if (end_ms := time_ms(report.end, report.unit)) is not None:
        yield ("stream_end_timestamp_seconds", labels), end_ms / 1000
    yield ("stream_memory_entries", labels), report.remaining
    if report.lag is not None:
        yield ("stream_lag_entries", labels), report.lag
    if report.epoch:
        yield ("stream_epoch", labels), report.epoch
    for holdup in report.holdups:
        labels = _labels(stream=report.stream, group=holdup.group, reason=holdup.reason)
        if holdup.since_ms is not None:
            yield ("stream_held_up_seconds", labels), holdup.since_ms / 1000


def _lines(samples: dict[Series, float]) -> Iterable[str]:
    """The lines of the file: samples grouped by family, as the format requires."""
    for families, kind in ((COUNTERS, "counter"), (GAUGES, "gauge")):
        for name, text in families.items():
            lines = [
                f"{PREFIX}{name}{labels} {value}\n"
                for (family, labels), value in samples.items()
                if family == name
            ]
            if lines:
                yield f"# HELP {PREFIX}{name} {text}\n# TYPE {PREFIX}{name} {kind}\n"
                yield from lines


def _labels(**values: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
