"""`rillway archive`: streams go to a table of Parquet files, and then out of memory.

Standard output has one line for each stream at the end of each round; progress, and what holds up a
trim, goes to standard error. Exits with 0 when it is done, or was ended in --every by a signal;
1 if it cannot go on, 2 for a bad argument, 128 + N if signal N came before all was archived. It may
be started again at any time, whatever ended it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from rillway.pipeline.archive.archiver import (
    Archiver,
    Hooks,
    Report,
    Settings,
)
from rillway.pipeline.archive.arguments import parse_options
from rillway.pipeline.archive.engine import Engine, EngineFailed, LocalEngine, SparkEngine
from rillway.pipeline.archive.identity.epochs import epoch_as_json
from rillway.pipeline.archive.identity.recognition import OtherSource, Refused
from rillway.pipeline.archive.lease import LeaseLost, LeaseTaken
from rillway.pipeline.archive.maintenance import (
    Upkeep,
    compact,
    expire,
)
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.client.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.client.facts import read_facts
from rillway.pipeline.client.ids import MIN_ID, format_id
from rillway.pipeline.ranges.discovery import StreamMissing, find_streams
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.spark.spark_session import PipelineUnavailable, spark_session

EXPECTED_ERRORS = (
    ArchiveError,
    ConnectionLost,
    DataLost,
    EngineFailed,
    LeaseLost,
    LeaseTaken,
    PipelineUnavailable,
    ServerError,
    StreamMissing,
)
# What a later round of --every may find mended.
PASSING_ERRORS = (ConnectionLost, EngineFailed, LeaseLost, LeaseTaken)


def main(arguments: list[str]) -> int:
    """Archive, compact, expire, or print the status. Returns the exit status."""
    job, options = parse_options(arguments)
    try:
        return JOBS[job](options)
    except EXPECTED_ERRORS as error:
        print(f"rillway archive: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rillway archive: interrupted; what was committed stays", file=sys.stderr)
        return 130


# -- archive --------------------------------------------------------------------------------------


def archive_main(options: argparse.Namespace) -> int:
    """One round, or one after the other until a signal comes."""
    settings = Settings(
        options.url,
        batch_entries=options.batch,
        batch_bytes=options.batch_bytes,
        rules=TrimRules(
            keep_ms=round(options.keep * 1000),
            ignored_groups=frozenset(options.ignore_group),
            group_max_idle_ms=(
                None if options.group_max_idle is None else round(options.group_max_idle * 1000)
            ),
        ),
        trims=not options.no_trim,
        accepts_loss=options.accept_loss,
        opens_new_epoch=options.new_epoch,
        # What a pattern has found may be deleted a moment later.
        allows_missing=options.allow_missing or options.pattern is not None,
        lease_ms=max(round(options.lease * 1000), 1),
    )
    table = ArchiveTable.open_or_create(options.to, options.storage_options)
    if options.partition_by is not None:
        table.set_period(options.partition_by)
    # Spark sets a handler of signals of its own, so it comes before ours.
    with open_engine(options.engine) as engine, Interruption() as interruption:
        chosen = tuple(options.stream), options.pattern
        archiver_round = _Round(table, engine, settings, chosen, interruption)
        if options.every is None:
            archiver_round.run()
            if archiver_round.was_cut_short:
                return interruption.exit_status
            return 1 if archiver_round.refused else 0
        while not interruption.requested:
            began = time.monotonic()
            try:
                archiver_round.run()
            except PASSING_ERRORS as error:
                print(f"rillway archive: {error}; next try in {options.every:g} s", file=sys.stderr)
            interruption.wait(max(options.every - (time.monotonic() - began), 0))
        return 1 if archiver_round.refused else 0


@contextmanager
def open_engine(name: str) -> Iterator[Engine]:
    """`spark` or `local`. Raises PipelineUnavailable."""
    if name == "local":
        yield LocalEngine()
        return
    spark = spark_session("rillway archive")
    try:
        yield SparkEngine(spark)
    finally:
        spark.stop()


class _Round:
    """Each stream once. `refused`: the number of streams that it would not go on with."""

    def __init__(
        self,
        table: ArchiveTable,
        engine: Engine,
        settings: Settings,
        chosen: tuple[tuple[str, ...], str | None],
        interruption: Interruption,
    ) -> None:
        self._table, self._engine, self._settings = table, engine, settings
        self._names, self._pattern = chosen
        self._interruption = interruption
        self.was_cut_short = False
        self.refused = 0

    def run(self) -> None:
        self.refused = 0
        archiver = Archiver(self._table, self._engine, self._settings)
        unknown = self._archive_all(archiver, self._streams())
        if unknown and archiver.source_is_known:
            # A stream that came later has shown that the server is the one of before.
            unknown = self._archive_all(archiver, list(unknown))
        for refusal in unknown.values():
            self._refuse(refusal)

    def _archive_all(self, archiver: Archiver, streams: Sequence[str]) -> dict[str, OtherSource]:
        """Returns the streams of which nothing shows that the server is the one of before."""
        unknown = {}
        for stream in streams:
            if self._interruption.requested:
                self.was_cut_short = True
                break
            try:
                self._archive(archiver, stream)
            except OtherSource as refusal:
                unknown[stream] = refusal
            except Refused as refusal:
                self._refuse(refusal)
        return unknown

    def _refuse(self, refusal: Refused) -> None:
        self.refused += 1
        print(f"rillway archive: {refusal}", file=sys.stderr)

    def _archive(self, archiver: Archiver, stream: str) -> None:
        with Progress(f"archiving {stream}") as progress:
            hooks = Hooks(
                planned=progress.set_total,
                advanced=progress.advance,
                is_interrupted=lambda: self._interruption.requested,
            )
            report = archiver.archive(stream, hooks)
            seconds = progress.seconds
            for note in report.notes:
                progress.note(f"note: {note}")
            for holdup in report.holdups:
                progress.note(holdup.sentence())
        print(summary(report, seconds), flush=True)
        self.was_cut_short |= self._interruption.requested and not report.is_complete

    def _streams(self) -> list[str]:
        if self._pattern is None:
            return list(self._names)
        with Connection(self._settings.url) as connection:
            return find_streams(connection, (), self._pattern)


def summary(report: Report, seconds: float) -> str:
    """Return a summary of a report in one line."""
    parts = [f"{report.archived:,} archived"]
    if report.archived:
        rate = report.archived / max(seconds, 1e-9)
        parts[0] += f" in {report.batches} batches, {report.bytes:,} bytes, {rate:,.0f} a second"
    parts.append(f"{report.trimmed:,} trimmed")
    parts.append(f"{report.remaining:,} in memory")
    if report.is_missing:
        parts.append("not in memory at all")
    if report.end != MIN_ID:
        parts.append(f"archived up to {format_id(report.end)}")
    if report.holdups:
        parts.append("held up by " + ", ".join(holdup.label for holdup in report.holdups))
    return f"{report.stream}: " + "; ".join(parts)


# -- upkeep ---------------------------------------------------------------------------------------


def compact_main(options: argparse.Namespace) -> int:
    """Merge small files of days that are over."""
    table = ArchiveTable.open(options.to, options.storage_options)
    if options.partition_by is not None:
        table.set_period(options.partition_by)
    with Interruption() as interruption, Progress("compacting", unit="rows") as progress:
        done = compact(
            table,
            options.stream or table.streams(),
            target_bytes=options.target_size,
            vacuum_after_hours=round(options.vacuum_after / 3600),
            advanced=progress.advance,
            is_interrupted=lambda: interruption.requested,
        )
    print(
        f"{done.files_before:,} files became {done.files_after:,}; {done.rows:,} rows, "
        f"{done.bytes_before:,} bytes became {done.bytes_after:,}; {_vacuumed(done)}"
    )
    return interruption.exit_status


def expire_main(options: argparse.Namespace) -> int:
    """Remove old days."""
    table = ArchiveTable.open(options.to, options.storage_options)
    before = options.before
    if before is None:
        before = (datetime.now(UTC) - timedelta(seconds=options.older_than)).date()
    done = expire(
        table,
        options.stream or table.streams(),
        before,
        vacuum_after_hours=round(options.vacuum_after / 3600),
    )
    print(
        f"{done.rows:,} rows from before {before} removed, {done.files_before:,} files, "
        f"{done.bytes_before:,} bytes; {_vacuumed(done)}"
    )
    return 0


def _vacuumed(done: Upkeep) -> str:
    return f"{done.vacuumed:,} files deleted that nothing names any more"


# -- status ---------------------------------------------------------------------------------------


def status_main(options: argparse.Namespace) -> int:
    """Print what the archive holds of each stream. Returns the exit status."""
    table = ArchiveTable.open(options.to, options.storage_options)
    with Connection(options.url) as connection:
        for stream in options.stream or table.streams():
            files = table.files(stream)
            facts = read_facts(connection, stream)
            end = table.end(stream)
            days = f", {files[0].date} to {files[-1].date}" if files else ""
            behind = ""
            if end is not None and end.n is not None:
                behind = f"; {max(facts.entries_added - end.n, 0):,} not archived yet"
            print(
                f"{stream}: {sum(file.rows for file in files):,} entries in {len(files):,} files, "
                f"{sum(file.size_bytes for file in files):,} bytes{days}; "
                f"archived up to {'nothing' if end is None else format_id(end.id)}; "
                f"{facts.length:,} in memory{behind}"
            )
    return 0


# -- epochs ---------------------------------------------------------------------------------------


def epochs_main(options: argparse.Namespace) -> int:
    """The histories that the archive has of each stream."""
    table = ArchiveTable.open(options.to, options.storage_options)
    for stream in options.stream or table.streams():
        state = table.state(stream)
        for epoch in () if state is None else state.epochs:
            rows = sum(file.rows for file in table.files(stream) if file.epoch == epoch.number)
            end = table.end(stream) if epoch.end is None else None
            last = epoch.end if end is None else end.id
            content = {"stream": stream, **epoch_as_json(epoch), "rows": rows}
            content["end"] = format_id(last or MIN_ID)
            print(json.dumps(content) if options.json else epoch_line(content))
    return 0


def epoch_line(content: Mapping[str, Any]) -> str:
    """One epoch for people."""
    moment = datetime.fromtimestamp(content["began_ms"] / 1000, UTC)
    began = f"{moment:%Y-%m-%d %H:%M:%S} UTC" if content["began_ms"] else "by an earlier release"
    branch = ""
    if content["parent"]:
        branch = f", of epoch {content['parent']} up to {content['branch']}"
    return (
        f"{content['stream']}: epoch {content['epoch']}{branch}, {content['rows']:,} entries of "
        f"its own, archived up to {content['end']}; begun {began}: {content['reason'] or '-'}"
    )


JOBS = {
    "archive": archive_main,
    "compact": compact_main,
    "epochs": epochs_main,
    "expire": expire_main,
    "status": status_main,
}
