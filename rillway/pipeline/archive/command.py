"""`rillway archive`: moves entries from streams to a table of Parquet files and trims the streams.

Standard output has a line for each stream at the end of a round, or an object with `--json`; with
--every, idle streams share one line a minute. Progress, and groups that hold up trims, go to
standard error, with --every once a minute. Exits with 0 when it is done, or a signal ended --every;
1 if it cannot continue, 2 for a bad argument, 128 + N if signal N arrived before everything was
archived. It may be started again at any time, whatever ended it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

from rillway.command_line.output import name_target
from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.arguments import parse_options
from rillway.pipeline.archive.columns.commands import columns_request, infer_main
from rillway.pipeline.archive.columns.requests import Request, set_columns
from rillway.pipeline.archive.columns.schema import BadColumns
from rillway.pipeline.archive.earlier.commands import backfill_main
from rillway.pipeline.archive.engine import Engine, EngineFailed, LocalEngine, SparkEngine
from rillway.pipeline.archive.erasure.commands import erase_main
from rillway.pipeline.archive.files.extents import extents
from rillway.pipeline.archive.files.opening import is_table, place_of
from rillway.pipeline.archive.files.store import StoreFailed, os_sentence
from rillway.pipeline.archive.iceberg.follower import Follower, check_installed, open_mirror
from rillway.pipeline.archive.identity.epochs import epoch_as_json
from rillway.pipeline.archive.identity.lost import (
    check_not_lost,
    forget_main,
    in_other_database,
)
from rillway.pipeline.archive.repair.commands import repair_main, verify_main, warn_of_damage
from rillway.pipeline.archive.repair.findings import check_files
from rillway.pipeline.archive.report.metrics import MetricsFile
from rillway.pipeline.archive.report.rounds import (
    Round,
    RoundOutcome,
    Stopwatch,
    StreamReport,
    as_json,
    idle_summary,
    left_out,
    summary,
    total,
)
from rillway.pipeline.archive.report.status import as_total, current_line_sql, find_status
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.archive.upkeep.commands import compact_main, expire_main, upkeep_main
from rillway.pipeline.archive.upkeep.compaction import compact_due
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.progress import OncePerMinute, Progress
from rillway.pipeline.ranges.discovery import StreamMissing, find_streams, glob, none_fits
from rillway.pipeline.spark.spark_session import PipelineUnavailable, spark_session
from rillway.pipeline.wire.cluster import away_of, away_sentences, connect
from rillway.pipeline.wire.connection import ConnectionLost, ServerError
from rillway.pipeline.wire.ids import MIN_ID, format_id, unit_text
from rillway.pipeline.wire.places import archive_of, gone_sentences, read_markers
from rillway.pipeline.wire.urls import public_url
from rillway.plurals import count_of

EXPECTED_ERRORS = (
    ArchiveError,
    BadColumns,
    ConnectionLost,
    EngineFailed,
    PipelineUnavailable,
    ServerError,
    StreamMissing,
)
# Errors after which --every continues, as they may pass. OSError and StoreFailed: a full disk,
# missing permissions, a busy object store, expired credentials. ServerError: the replies during a
# failover, from a server that is a replica, has too few replicas, or is loading.
PASSING_ERRORS = (ConnectionLost, EngineFailed, OSError, ServerError, StoreFailed)
PASSING_CODES = (
    *("READONLY", "NOREPLICAS", "MASTERDOWN", "LOADING"),
    *("CLUSTERDOWN", "ASK", "TRYAGAIN"),
)


def passes(error: Exception) -> bool:
    """Return True if a later round may succeed in spite of the error of this one."""
    return not isinstance(error, ServerError) or error.code in PASSING_CODES


def main(arguments: list[str]) -> int:
    """Run a job of `rillway archive`. Returns the exit status."""
    job, options = parse_options(arguments)
    try:
        return JOBS[job](options)
    except EXPECTED_ERRORS as error:
        print(f"rillway archive: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"rillway archive: {os_sentence(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rillway archive: interrupted; what was committed stays", file=sys.stderr)
        return 130


# -- archive --------------------------------------------------------------------------------------


def archive_main(options: argparse.Namespace) -> int:
    """Run one round, or rounds until a signal arrives. Returns the exit status."""
    if options.infer is not None:
        return infer_main(options)
    request = columns_request(options)
    name_target("archive", options.url)
    settings = ArchiverSettings(
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
        allows_missing=options.allow_missing,
        # Streams that a pattern found may have been deleted since.
        required=None if options.pattern is None else frozenset(options.stream),
        lease_ms=max(round(options.lease * 1000), 1),
        id_unit=options.id_unit,
    )
    # Spark sets its own signal handler, so ours must be set later.
    with open_engine(options.engine) as engine, Interruption() as interruption:
        rounds = _Rounds(engine, settings, request, options, interruption)
        if options.every is None:
            rounds.run()
            if rounds.was_cut_short:
                return interruption.exit_status
            return 1 if rounds.has_failed else 0
        while not interruption.requested:
            began = time.monotonic()
            try:
                rounds.run()
            except PASSING_ERRORS as error:
                if not passes(error):
                    raise
                text = os_sentence(error) if isinstance(error, OSError) else str(error)
                rounds.complain(f"{text}; next try in {options.every:g} s", type(error))
            interruption.wait(max(options.every - (time.monotonic() - began), 0))
        return 1 if rounds.has_failed else 0


@contextmanager
def open_engine(name: str) -> Iterator[Engine]:
    """Open the engine `spark` or `local`. Raises PipelineUnavailable."""
    if name == "local":
        yield LocalEngine()
        return
    spark = spark_session("rillway archive")
    try:
        yield SparkEngine(spark)
    finally:
        spark.stop()


class _Rounds:
    """The rounds of an archiver.

    `has_failed`: True if streams were left out of the last one, or the mirror lags;
    `was_cut_short`: True if a signal arrived before everything was archived.
    """

    def __init__(
        self,
        engine: Engine,
        settings: ArchiverSettings,
        request: Request | None,
        options: argparse.Namespace,
        interruption: Interruption,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._request = request
        self._options = options
        self._names: Sequence[str] = options.stream
        self._pattern: str | None = options.pattern
        self._compacts = not options.no_compact
        self._interruption = interruption
        self._is_json: bool = options.json
        self._metrics = MetricsFile(options.metrics_file) if options.metrics_file else None
        self._follower: Follower | None = None
        if options.iceberg is not None:
            check_installed()
        self.was_cut_short = False
        self._has_left_out = False
        self._said = OncePerMinute()
        self._noted: set[str] = set()

    @cached_property
    def _archiver(self) -> Archiver:
        return Archiver(self._table, self._engine, self._settings)

    @cached_property
    def _table(self) -> ArchiveTable:
        """The table, opened by the first round; a new one is refused if streams have markers."""
        options = self._options
        store = place_of(options.to, options.storage_options)
        if not options.new_archive and not is_table(store):
            with connect(options.url) as connection:
                streams = find_streams(connection, tuple(options.stream), options.pattern)
                check_not_lost(connection, store, streams)
        table = ArchiveTable.open_or_create(store)
        if options.partition_by is not None:
            table.set_period(options.partition_by)
        if self._request is not None:
            before = table.columns.columns
            set_columns(table, self._request)
            if table.columns.columns != before and table.files():
                complain(
                    "note: rows that are archived already get the new columns by "
                    f"`rillway archive backfill --columns --to {table.store}`"
                )
        if options.iceberg is not None:
            place = store, options.iceberg, options.iceberg_table
            self._follower = Follower(lambda: open_mirror(*place), self.complain)
        return table

    @property
    def has_failed(self) -> bool:
        return self._has_left_out or (self._follower is not None and self._follower.failed)

    def run(self) -> None:
        """Run a round. Raises EXPECTED_ERRORS."""
        self._has_left_out = False
        watch, began, began_ms = Stopwatch(), time.monotonic(), time.time_ns() // 1_000_000
        try:
            outcome = self._archived(watch)
        except EXPECTED_ERRORS as error:
            seconds = time.monotonic() - began
            self._record(Round(began_ms, seconds, watch.by_phase, error=str(error)))
            raise
        seconds = time.monotonic() - began
        self._print(outcome, seconds)
        elsewhere = self._elsewhere(outcome)
        self._has_left_out = bool(outcome.failures or outcome.away or elsewhere)
        reports = outcome.reports.values()
        self.was_cut_short = self._interruption.requested and not all(
            report.is_complete for report in reports
        )
        if outcome.commits and self._compacts and not self._interruption.requested:
            self._keep_up(seconds)
            watch.reached("compacted")
        if self._follower is not None:
            self._follower.round_ended()
            watch.reached("mirrored")
        self._record(Round(began_ms, seconds, watch.by_phase, outcome))

    def _archived(self, watch: Stopwatch) -> RoundOutcome:
        """Archive and print notes. Raises EXPECTED_ERRORS."""
        archiver = self._archiver
        streams = self._streams()
        self._note_patterns(streams)
        what = streams[0] if len(streams) == 1 else count_of(len(streams), "stream")
        with Progress(f"archiving {what}") as progress:
            hooks = Hooks(
                planned=progress.set_total,
                advanced=progress.advance,
                reached=watch.reached,
                is_interrupted=lambda: self._interruption.requested,
            )
            if self._follower is not None:
                hooks.committed = partial(self._mirror, self._follower, watch)
            outcome = archiver.round(streams, hooks)
            watch.reached("ended")
            gone = self._gone(outcome)
            for report in outcome.reports.values():
                for text in [f"note: {note}" for note in self._notes(report)]:
                    if self._said.allows(text):
                        progress.note(text)
                for holdup in report.holdups:
                    of_gone = gone.get((report.stream, holdup.group))
                    if self._said.allows((report.stream, holdup.group)):
                        progress.note(of_gone or holdup.sentence())
        return outcome

    def _notes(self, report: StreamReport) -> list[str]:
        asked = self._settings.id_unit
        if asked in (None, report.unit):
            return report.notes
        fixed = f"{report.stream}: {unit_text(report.unit)} since it was archived first"
        return [*report.notes, f"{fixed}, which --id-unit does not change"]

    def complain(self, text: str, about: object = None) -> None:
        """Print a line on standard error, once a minute. `about`: identifies it in later rounds."""
        if self._said.allows(about or text):
            complain(text)

    def _mirror(self, follower: Follower, watch: Stopwatch) -> None:
        follower.committed()
        watch.reached("mirrored")

    def _print(self, outcome: RoundOutcome, seconds: float) -> None:
        if not self._is_json:
            reports = list(outcome.reports.values())
            idle = [one for one in reports if not (one.archived or one.trimmed)]
            if self._options.every is not None and idle:
                reports = [one for one in reports if one.archived or one.trimmed]
                if self._said.allows("idle"):
                    print(idle_summary(idle))
            for report in reports:
                print(summary(report))
            if sum(report.archived > 0 for report in outcome.reports.values()) > 1:
                print(total(outcome, seconds))
            sys.stdout.flush()
        for about, text in left_out(outcome):
            self.complain(text, about)

    def _record(self, one: Round) -> None:
        """Report a round to programs: as JSON, and in the metrics file."""
        if self._is_json:
            print(json.dumps(as_json(one)), flush=True)
        if self._metrics is not None:
            try:
                self._metrics.add(one)
            except OSError as error:
                self.complain(f"no metrics are written: {error}")

    def _keep_up(self, seconds: float) -> None:
        """Compact for up to a quarter of the time; `seconds`: duration of the round."""
        try:
            compact_due(self._table, seconds / 3)
            self._table.tidy()
        except ArchiveError as error:
            self.complain(f"not compacted: {error}", "compact")

    def _elsewhere(self, outcome: RoundOutcome) -> list[str]:
        """Print and return a sentence for each named stream that is in another database."""
        reports = outcome.reports.values()
        missing = [one.stream for one in reports if one.is_missing and one.stream in self._names]
        if not missing or self._settings.allows_missing:
            return []
        with connect(self._settings.url) as connection:
            texts = (in_other_database(self._table, connection, name) for name in missing)
            found = [text for text in texts if text]
        for text in found:
            self.complain(text)
        return found

    def _gone(self, outcome: RoundOutcome) -> dict[tuple[str, str], str]:
        """Return sentences about groups of lost archives that hold up trims."""
        groups = {
            report.stream: [one.group for one in report.holdups if archive_of(one.group)]
            for report in outcome.reports.values()
        }
        if not any(groups.values()):
            return {}
        with connect(self._settings.url) as connection:
            connection.leave_out()
            return gone_sentences(connection, groups)

    def _streams(self) -> list[str]:
        if self._pattern is None:
            return list(self._names)
        fits = glob(self._pattern).fullmatch
        with connect(self._settings.url) as connection:
            connection.leave_out()
            found = find_streams(connection, tuple(self._names), self._pattern)
            # Of a node that does not answer, only archived streams are known.
            known = filter(fits, self._table.streams() if connection.left_out else ())
            return list(
                dict.fromkeys([*self._names, *sorted({*found, *away_of(connection, known)})])
            )

    def _note_patterns(self, streams: Sequence[str]) -> None:
        """Print a note, once, about a pattern without streams: it may be misspelt."""
        text = ""
        if self._pattern is not None and not streams:
            text = none_fits(self._settings.url, self._pattern)
        elif self._request is not None:
            patterns = ", ".join(self._table.columns.unused_patterns(streams))
            text = patterns and f"no stream of this round has the columns of {patterns}"
        if text and text not in self._noted:
            complain(f"note: {text}")
            self._noted.add(text)


def complain(text: str) -> None:
    print(f"rillway archive: {text}", file=sys.stderr)


# -- upkeep ---------------------------------------------------------------------------------------


def iceberg_main(options: argparse.Namespace) -> int:
    """Update the mirror. Returns the exit status."""
    mirror = open_mirror(
        place_of(options.to, options.storage_options), options.iceberg, options.iceberg_table
    )
    if options.rebuild:
        mirror.drop()
    done = mirror.follow()
    print(
        f"{options.iceberg_table}: {count_of(done.added, 'file')} added, {done.removed:,} removed; "
        f"shows version {done.version} of the archive"
    )
    return 0


# -- status ---------------------------------------------------------------------------------------


def status_main(options: argparse.Namespace) -> int:
    """Print the status of each stream. Returns the exit status."""
    table = ArchiveTable.open(options.to, options.storage_options)
    damaged = dict(check_files(table.store, table.files()))
    sound = [file for file in table.files() if file not in damaged]
    streams = options.stream or table.streams()
    with connect(options.url) as connection:
        connection.leave_out()
        found = find_status(connection, table, streams, sound)
        missing = [one.stream for one in found if one.is_missing and options.stream]
        elsewhere = [in_other_database(table, connection, name) for name in missing]
        away = away_of(connection, streams)
        for marker in read_markers(connection, [name for name in streams if name not in away]):
            # If this archive was moved, the next round of an archiver corrects its location.
            is_other = archive_of(marker.group) != table.group
            if is_other and (text := marker.gone_sentence(options.url)):
                complain(text)
    for one in found:
        print(json.dumps(one.as_json()) if options.json else one.line())
    if not options.json:
        print(as_total(table, len(found)))
        if sql := current_line_sql(table):
            print(f"without earlier epochs: {sql}")
    wrong = [
        f"{one.stream}: is neither in {table.store} nor at {public_url(options.url)}"
        for one in found
        if one.is_missing and not one.epoch
    ]
    wrong += [*filter(None, elsewhere), *away_sentences((), away.values())]
    for text in wrong:
        complain(text)
    warn_of_damage(table, damaged)
    return 1 if damaged or wrong else 0


# -- epochs ---------------------------------------------------------------------------------------


def epochs_main(options: argparse.Namespace) -> int:
    """Print the histories of each stream. Returns the exit status."""
    table = ArchiveTable.open(options.to, options.storage_options)
    counted = extents(table.store, table.files())
    unknown = [stream for stream in options.stream or () if table.record(stream) is None]
    for stream in unknown:
        complain(f"{stream}: is not in {table.store}")
    for stream in options.stream or table.streams():
        record = table.record(stream)
        for epoch in () if record is None else record.state.epochs:
            own = counted.get((stream, epoch.number))
            last = record.end.id if record is not None and epoch.end is None else epoch.end
            content = {"stream": stream, **epoch_as_json(epoch), "rows": own.rows if own else 0}
            content["end"] = format_id(last or MIN_ID)
            print(json.dumps(content) if options.json else epoch_line(content))
    return 1 if unknown else 0


def epoch_line(content: Mapping[str, Any]) -> str:
    """Return an epoch in one line."""
    moment = datetime.fromtimestamp(content["began_ms"] / 1000, UTC)
    began = f"{moment:%Y-%m-%d %H:%M:%S} UTC" if content["began_ms"] else "at an unknown time"
    branch = ""
    if content["parent"]:
        branch = f", of epoch {content['parent']} up to {content['branch']}"
    return (
        f"{content['stream']}: epoch {content['epoch']}{branch}, "
        f"{count_of(content['rows'], 'entry')} of its own, archived up to {content['end']}; "
        f"begun {began}: {content['reason'] or '-'}"
    )


JOBS = {
    "archive": archive_main,
    "backfill": backfill_main,
    "compact": compact_main,
    "epochs": epochs_main,
    "erase": erase_main,
    "expire": expire_main,
    "forget": forget_main,
    "iceberg": iceberg_main,
    "repair": repair_main,
    "status": status_main,
    "upkeep": upkeep_main,
    "verify": verify_main,
}
