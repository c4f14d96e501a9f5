"""`rillway lag`: how far groups are behind, how fast they read, and when they will be through.

Any server from Redis 7.0 on. Each sample is a line for each group on standard output; at the end
comes a table of the whole time. Exits with 0, also if a signal ended it; 1 if it cannot go on, 2
for a bad argument.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from rillway.pipeline.cli.arguments import add_url, duration, from_one
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.plots import PlotUnavailable
from rillway.pipeline.cli.progress import duration as in_words
from rillway.pipeline.cli.text_table import text_table
from rillway.pipeline.client.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.client.group_samples import GroupSample, sample_groups
from rillway.pipeline.lag.plot import draw
from rillway.pipeline.lag.series import Recording, Series, Trend
from rillway.pipeline.ranges.discovery import StreamMissing, check_there, find_streams

EXPECTED_ERRORS = (ConnectionLost, OSError, PlotUnavailable, ServerError, StreamMissing)
CSV_COLUMNS = (
    "time_ms", "stream", "group", "lag", "pending", "entries_read", "last_delivered_id",
    "stream_length", "stream_entries_added", "stream_last_id",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Sample until it is enough. Returns the exit status."""
    options = parse_options(arguments)
    try:
        with contextlib.ExitStack() as stack:
            file = None
            if options.csv is not None:
                file = stack.enter_context(options.csv.open("w", encoding="utf-8", newline=""))
            interruption = stack.enter_context(Interruption())
            recording = record(options, file, interruption)
        print(table(recording))
        if options.plot is not None:
            draw(recording, options.plot, "lag")
    except EXPECTED_ERRORS as error:
        print(f"rillway lag: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def record(
    options: argparse.Namespace, file: TextIO | None, interruption: Interruption
) -> Recording:
    """Samples, shown and written as they come, so that nothing is lost with the command."""
    recording = Recording()
    writer = None if file is None else csv.writer(file)
    if writer is not None:
        writer.writerow(CSV_COLUMNS)
    with Connection(options.url) as connection:
        check_there(connection, *(options.stream or ()), remedy="")
        for _ in ticks(options.samples, options.every, interruption):
            streams = find_streams(connection, tuple(options.stream or ()), options.pattern)
            samples = [
                sample
                for sample in sample_groups(connection, streams)
                if not options.group or sample.group in options.group
            ]
            recording.add(samples)
            for sample in samples:
                print(line(sample, recording.series[sample.stream, sample.group]), flush=True)
                if writer is not None:
                    writer.writerow([getattr(sample, name) for name in CSV_COLUMNS])
            if file is not None:
                file.flush()
    return recording


def ticks(samples: int | None, every: float, interruption: Interruption) -> Iterator[int]:
    """One for each sample that is to be taken, `every` seconds; no end if `samples` is None."""
    number, due = 0, time.monotonic()
    while samples is None or number < samples:
        if number and interruption.wait(max(due - time.monotonic(), 0)):
            return
        yield number
        number, due = number + 1, max(due + every, time.monotonic())


def line(sample: GroupSample, series: Series) -> str:
    """`12:00:05 orders/g: 1,204 behind, 17 pending, 500 read and 300 added a second, ...`"""
    clock = time.strftime("%H:%M:%S", time.localtime(sample.time_ms / 1000))
    lag = "an unknown number" if sample.lag is None else f"{sample.lag:,}"
    text = f"{clock} {sample.stream}/{sample.group}: {lag} behind, {sample.pending:,} pending"
    recent = series.recent
    if recent.read_rate is not None and recent.added_rate is not None:
        text += f", {recent.read_rate:,.0f} read and {recent.added_rate:,.0f} added a second"
        text += f", {outlook(recent)}"
    return text


def outlook(recent: Trend) -> str:
    """Return a phrase that says when the lag will be gone, if ever."""
    if recent.lag == 0:
        return "nothing left"
    if recent.drain_s is None:
        return "does not catch up"
    return f"through in {in_words(recent.drain_s)}"


def table(recording: Recording) -> str:
    """The whole time, a row for each group."""
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
                outlook(overall) if len(series.samples) > 1 else None,
            )
        )
    headings = (
        "group", "samples", "least lag", "greatest", "last", "pending",
        "read/s", "added/s", "",
    )  # fmt: skip
    return text_table(headings, rows) if rows else "no groups"


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Exits with status 2 if they are wrong."""
    parser = argparse.ArgumentParser(
        prog="rillway lag",
        description="How far consumer groups are behind, how fast they read, and when they will "
        "be through.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--stream", action="append", help="a stream; may be given again")
    which.add_argument("--pattern", help="all streams whose names match, such as 'orders:*'")
    parser.add_argument(
        "--group", action="append", help="a group; may be given again (default: all groups)"
    )
    parser.add_argument(
        "--every", type=duration, default=1.0, metavar="TIME", help="between samples (default: 1s)"
    )
    parser.add_argument(
        "--samples", type=from_one, metavar="N", help="end after N samples (default: until Ctrl-C)"
    )
    add_url(parser)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the samples as CSV")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw them at the end")
    return parser.parse_args(arguments)
