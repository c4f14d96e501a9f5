"""`rillway latency`: pending and total times of entries, by group and consumer.

It reads Rillway's journal of acknowledgements, from memory and from its archive. Tables and
histograms go to standard output, progress to standard error. Exits with 0 when it is done, or when
a signal ended --follow; 1 if it cannot go on, 2 for a bad argument, 128 + N after signal N.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from rillway.pipeline.archive.identity.recognition import Refused
from rillway.pipeline.archive.pins import PinLost
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.cli.interruption import Interrupted, Interruption
from rillway.pipeline.cli.plots import PlotUnavailable
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.latency.arguments import parse_options
from rillway.pipeline.latency.distribution import LatencyCounts
from rillway.pipeline.latency.journal import Follower, NoJournal, count, find_journal
from rillway.pipeline.latency.report import draw, lines, short_lines, write_csv
from rillway.pipeline.query.frames import data_frame
from rillway.pipeline.query.history import open_history
from rillway.pipeline.ranges.discovery import StreamMissing, check_there
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.spark.spark_session import PipelineUnavailable, root_cause, spark_session
from rillway.pipeline.wire.cluster import connect, url_of
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.wire.facts import read_facts
from rillway.pipeline.wire.ids import MIN_ID
from rillway.plurals import count_of

EXPECTED_ERRORS = (
    ArchiveError,
    ConnectionLost,
    DataLost,
    NoJournal,
    OSError,
    PinLost,
    PipelineUnavailable,
    PlotUnavailable,
    Refused,
    ServerError,
    StreamMissing,
)
WAIT_MS = 200


class CountFailed(Exception):
    """Spark failed to count; the message is one line."""


def main(arguments: list[str]) -> int:
    """Report once, or follow the journal. Returns the exit status."""
    options = parse_options(arguments)
    try:
        return run(options)
    except (CountFailed, *EXPECTED_ERRORS) as error:
        print(f"rillway latency: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(options: argparse.Namespace) -> int:
    with ExitStack() as stack:
        source = Source(
            options.url,
            options.stream,
            _journal(options),
            options.archive,
            tuple(options.group or ()),
        )
        if options.spark:
            tally = count_by_spark(source, options.first, options.last)
            show(tally, options)
            return 0
        # Spark sets its own signal handler, so it starts before ours is set.
        interruption = stack.enter_context(Interruption())
        tally = LatencyCounts()
        try:
            if options.follow:
                follow(source, options, tally, interruption)
            else:
                count_here(source, options.first, options.last, tally, interruption)
        except Interrupted:
            show(tally, options)
            print("rillway latency: interrupted; this is a part", file=sys.stderr)
            return interruption.exit_status
        show(tally, options)
    return 0


@dataclass(frozen=True, slots=True)
class Source:
    """The acknowledgements to count, and where they are stored."""

    url: str
    stream: str
    journal: str
    archive: str | None
    groups: tuple[str, ...]


def _journal(options: argparse.Namespace) -> str:
    """Return the key given by the user or by the server. Raises StreamMissing."""
    with connect(options.url) as connection:
        if options.journal is None:
            return find_journal(connection, options.stream)
        if options.archive is None:
            check_there(connection, options.journal, remedy="")
        return str(options.journal)


# -- counting -------------------------------------------------------------------------------------


def count_here(
    source: Source, first: int, last: int, tally: LatencyCounts, interruption: Interruption
) -> None:
    """Count into `tally`. Raises Interrupted, with the entries so far counted."""
    with (
        open_history(source.url, source.journal, source.archive, first, last) as history,
        Progress(f"reading {source.journal}", unit="acknowledgement") as progress,
    ):
        for note in history.notes:
            progress.note(f"note: {note}")
        for batch in history.batches():
            tally.merge(count(batch, source.stream, source.groups))
            progress.advance(len(batch))
            interruption.check()


def count_by_spark(source: Source, first: int, last: int) -> LatencyCounts:
    """Count with Spark. Raises CountFailed."""
    spark = spark_session("rillway latency")
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    from rillway.pipeline.latency.spark_journal import count_with_spark

    try:
        with open_history(source.url, source.journal, source.archive, first, last) as history:
            for note in history.notes:
                print(f"note: {note}", file=sys.stderr)
            return count_with_spark(data_frame(history, spark), source.stream, source.groups)
    except (Py4JError, PySparkException) as error:
        raise CountFailed(root_cause(error)) from None
    finally:
        spark.stop()


def follow(
    source: Source, options: argparse.Namespace, tally: LatencyCounts, interruption: Interruption
) -> None:
    """Print a line for each group at intervals, until a signal comes."""
    with Connection(url_of(source.url, source.journal)) as connection:
        after = read_facts(connection, source.journal).last_id
        if options.first != MIN_ID:
            count_here(source, options.first, after, tally, interruption)
        follower = Follower(connection, source.journal, source.stream, source.groups, after)
        for recent in rounds(follower, options.every, interruption):
            tally.merge(recent)
            clock = time.strftime("%H:%M:%S")
            for line in short_lines(recent, source.stream):
                print(f"{clock} {line}", flush=True)


def rounds(follower: Follower, every: float, interruption: Interruption) -> Iterator[LatencyCounts]:
    """Yield a tally of the acknowledgements of each `every` seconds, until a signal comes."""
    while not interruption.requested:
        recent = LatencyCounts()
        ends = time.monotonic() + every
        while (left := ends - time.monotonic()) > 0 and not interruption.requested:
            recent.merge(follower.next_tally(min(int(left * 1000), WAIT_MS)))
        yield recent


# -- output ---------------------------------------------------------------------------------------


def show(tally: LatencyCounts, options: argparse.Namespace) -> None:
    """Write the requested files, then standard output, which may be closed."""
    if options.csv is not None:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            write_csv(tally, file)
    if options.plot is not None:
        draw(tally, options.plot, f"{options.stream}: {count_of(tally.count, 'acknowledgement')}")
    print("\n".join(lines(tally, options.stream)).rstrip(), flush=True)
