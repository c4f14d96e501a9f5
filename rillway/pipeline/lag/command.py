"""`rillway lag`: how far groups are behind, how fast they read, and when they will catch up.

Works with any server from Redis 7.0 on. What entries wait for (a deadline, a back-off, MAX-PENDING,
a delay) is shown where the server has delivery policies. Each sample prints a line for each group
on standard output; a table of the whole time follows at the end. With `--json` each sample is an
object, without a table.

Exits with 0, also if a signal ended it; 1 if it cannot go on, a limit cannot be checked, or a node
of a cluster did not answer for the last sample; 2 for a bad argument; 3 if a group is over a limit
in the last sample.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rillway.command_line.output import paint
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.plots import PlotUnavailable
from rillway.pipeline.lag.arguments import parse_options
from rillway.pipeline.lag.samples import LagUnknown, Limits, Samples, draw
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import ConnectionLost, ServerError
from rillway.pipeline.wire.places import archive_of, gone_sentences
from rillway.sampler.trend import GroupSample, Recording, Series
from rillway.text import duration, text_table

OVER_LIMIT = 3
EXPECTED_ERRORS = (
    ConnectionLost, LagUnknown, OSError, PlotUnavailable, ServerError, StreamMissing,
)  # fmt: skip
CSV_COLUMNS = (
    "time_ms", "stream", "group", "lag", "pending", "entries_read", "last_delivered_id",
    "stream_length", "stream_entries_added", "stream_last_id", "oldest_ms",
    "due", "delayed", "held", "dead_letters", "stream_scheduled",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Sample until the end. Returns the exit status."""
    options = parse_options(arguments)
    try:
        with contextlib.ExitStack() as stack:
            file = None
            if options.csv is not None:
                file = stack.enter_context(options.csv.open("w", encoding="utf-8", newline=""))
            interruption = stack.enter_context(Interruption())
            connection = stack.enter_context(connect(options.url))
            samples = Samples(connection, options.stream, options.pattern)
            recording = record(samples, options, file, interruption)
        if not options.json:
            print(table(recording))
        warn_of_gone(recording, options.url)
        if options.plot is not None:
            draw(recording, options.plot, "lag")
        return status(recording, options) or (1 if samples.left_out else 0)
    except EXPECTED_ERRORS as error:
        print(f"rillway lag: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def warn_of_gone(recording: Recording, url: str) -> None:
    """Warn of groups of removed archives, which look like groups that never catch up."""
    groups: dict[str, list[str]] = {}
    for stream, group in recording.series:
        if archive_of(group):
            groups.setdefault(stream, []).append(group)
    if groups:
        with connect(url) as connection:
            connection.leave_out()
            for text in gone_sentences(connection, groups).values():
                print(f"rillway lag: {text}", file=sys.stderr)


def record(
    from_server: Samples,
    options: argparse.Namespace,
    file: TextIO | None,
    interruption: Interruption,
) -> Recording:
    """Take samples; show and write each at once, so that an interruption loses none."""
    recording = Recording()
    writer = None if file is None else csv.writer(file)
    if writer is not None:
        writer.writerow(CSV_COLUMNS)
    said: list[str] = []
    for _ in ticks(options.samples, options.every, interruption):
        samples = [
            sample
            for sample in from_server.take()
            if not options.group or sample.group in options.group
        ]
        recording.add(samples)
        show(samples, recording, options, from_server.left_out)
        if writer is not None and file is not None:
            writer.writerows([getattr(one, name) for name in CSV_COLUMNS] for one in samples)
            file.flush()
        for text in from_server.left_out:
            if text not in said:
                print(f"rillway lag: {text}", file=sys.stderr)
        said = from_server.left_out
    return recording


def show(
    samples: Sequence[GroupSample],
    recording: Recording,
    options: argparse.Namespace,
    left_out: Sequence[str],
) -> None:
    """Print a sample of all groups, as lines or as an object."""
    if options.json:
        content = as_json(samples, recording)
        print(json.dumps(content | {"left_out": left_out}), flush=True)
        return
    for sample in samples:
        print(line(sample, recording.series[sample.stream, sample.group]), flush=True)


def as_json(samples: Sequence[GroupSample], recording: Recording) -> dict[str, Any]:
    """Return `{"time_ms": ..., "groups": [...]}`; unknown figures are None."""
    groups = []
    for sample in samples:
        recent = recording.series[sample.stream, sample.group].recent
        groups.append(
            {name: getattr(sample, name) for name in CSV_COLUMNS if name != "time_ms"}
            | {
                "waits_for": dict(sample.waits_for),
                "consumers": len(sample.consumers),
                "read_per_s": recent.read_rate,
                "added_per_s": recent.added_rate,
                "drain_s": recent.drain_s,
            }
        )
    return {"time_ms": max((one.time_ms for one in samples), default=None), "groups": groups}


def status(recording: Recording, options: argparse.Namespace) -> int:
    """Return the exit status by the last samples; print exceeded limits on standard error.

    Raises LagUnknown, also for a named group that was not found, and if there are no groups: a
    mistyped pattern must not look like a group that is up to date.
    """
    limits = Limits(options.fail_above, options.oldest_above)
    if not limits.are_set:
        return 0
    exceeded = limits.exceeded(series.samples[-1] for series in recording.series.values())
    for text in exceeded:
        print(paint(f"rillway lag: {text}", "red", sys.stderr), file=sys.stderr)
    found = {group for _, group in recording.series}
    for group in options.group or ():
        if group not in found:
            raise LagUnknown(f"there is no group {group}")
    if not found:
        raise LagUnknown("there are no groups to check")
    return OVER_LIMIT if exceeded else 0


def ticks(samples: int | None, every: float, interruption: Interruption) -> Iterator[int]:
    """Yield a number for each sample to take, `every` seconds; without end if `samples` is None."""
    number, due = 0, time.monotonic()
    while samples is None or number < samples:
        if number and interruption.wait(max(due - time.monotonic(), 0)):
            return
        yield number
        number, due = number + 1, max(due + every, time.monotonic())


def line(sample: GroupSample, series: Series) -> str:
    """Return `12:00:05 orders/g: 1,204 behind, 17 pending, 500 read and 300 added a second, ...`"""
    clock = time.strftime("%H:%M:%S", time.localtime(sample.time_ms / 1000))
    lag = "an unknown number" if sample.lag is None else f"{sample.lag:,}"
    text = f"{clock} {sample.stream}/{sample.group}: {lag} behind, {sample.pending:,} pending"
    if sample.oldest_ms is not None:
        text += f" for up to {duration(sample.oldest_ms)}"
    recent = series.recent
    if recent.read_rate is not None and recent.added_rate is not None:
        text += f", {recent.read_rate:,.0f} read and {recent.added_rate:,.0f} added a second"
        text += "".join(f", {phrase}" for phrase in [outlook(series)] if phrase)
    if sample.dead_letters:
        text += f", {sample.dead_letters:,} to the dead letters"
    if sample.waits:
        text += f"; waiting: {', '.join(sample.waits)}"
    return text


def outlook(series: Series) -> str | None:
    """Return a phrase for when the group will have caught up, if ever; None if it is too early."""
    recent = series.recent
    if recent.lag == 0:
        return "nothing left"
    keeps_up = series.keeps_up
    if keeps_up is False:
        return "does not catch up"
    if recent.drain_s is None or recent.drain_s < 1:
        return "keeps up" if keeps_up else None
    return f"through in {duration(recent.drain_s * 1000)}"


def table(recording: Recording) -> str:
    """Return a table of the whole time, with a row for each group."""
    rows = []
    for (stream, group), series in sorted(recording.series.items()):
        lags, overall = series.lags, series.overall
        rows.append(
            (
                f"{stream}/{group}",
                len(series.samples),
                min(lags, default=None),
                max(lags, default=None),
                lags[-1] if lags else None,
                series.samples[-1].pending,
                overall.read_rate,
                overall.added_rate,
                outlook(series) if len(series.samples) > 1 else None,
            )
        )
    headings = (
        "group", "samples", "least lag", "greatest", "last", "pending",
        "read/s", "added/s", "",
    )  # fmt: skip
    return text_table(headings, rows) if rows else "no groups"
