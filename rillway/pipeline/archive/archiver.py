"""Archives streams in rounds: each entry is written to the table exactly once, then trimmed.

A round first checks that each stream is still the one that was archived before
(identity/recognition.py), in one pipeline. Then it works batch by batch: tasks write entries of
many streams to shared files, the files are compared with what the tasks report, and one commit of
the table names the files and the archived end of each stream. Only that commit counts. Before it,
no reader sees the files; after it, the next batch starts at the new ends. So a crash leaves nothing
to repair, and no entry is archived twice. A round without new entries makes no commit.

After a commit the markers move to the new ends, provided that the streams are still those that were
read. Only entries that are committed, on disk and before the marker are trimmed (trim.py).

A stream that is refused, has lost entries, or is archived by another archiver is left out; the
others go on. The same holds for streams on a cluster node that does not answer. If a node fails
during a round, all unfinished streams are recognised again without it, as after a crash:
uncommitted reads are dropped, committed ones are found in the table. stages.py has the stages of a
stream in a round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

from rillway.pipeline.archive.batches import Batch, write_batch
from rillway.pipeline.archive.columns.batches import EntryUnreadable
from rillway.pipeline.archive.columns.layouts import LayoutClash
from rillway.pipeline.archive.commits import Commits
from rillway.pipeline.archive.engine import Engine, EngineFailed
from rillway.pipeline.archive.erasure.memory import delete_returned
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.periods import day_of
from rillway.pipeline.archive.foreign.changes import Changes
from rillway.pipeline.archive.foreign.holes import lost_in_memory
from rillway.pipeline.archive.identity.guards import (
    ANCHOR,
    DONE,
    MARKER,
    REASONS,
    Guards,
    MarkerMove,
)
from rillway.pipeline.archive.identity.recognition import (
    Recognised,
    Refused,
    Rules,
    recognise_all,
)
from rillway.pipeline.archive.identity.units import units_of
from rillway.pipeline.archive.lease import LIFETIME_MS, Leases, lease_key
from rillway.pipeline.archive.limits import BATCH_BYTES, BATCH_ENTRIES
from rillway.pipeline.archive.report.rounds import RoundOutcome, StreamReport
from rillway.pipeline.archive.round_stream import RoundStream, RoundStreams, Step
from rillway.pipeline.archive.stages import Stage
from rillway.pipeline.archive.table import (
    ArchiveError,
    ArchiveTable,
)
from rillway.pipeline.archive.tasks import PartLost, ServerChanged, WriteTask
from rillway.pipeline.archive.trim import Trimmed, Trimmer, TrimRules, server_time_ms
from rillway.pipeline.ranges.discovery import StreamMissing, check_there, kinds_of
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.ranges.plan import Planner, backlog
from rillway.pipeline.wire.cluster import away_of, connect
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.wire.facts import (
    all_facts,
    all_group_infos,
    group_name,
    group_positions,
)
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, format_id
from rillway.pipeline.wire.places import record_place

# A stream that changes after it was recognised is recognised again.
MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class ArchiverSettings:
    """The settings of an Archiver. If `trims` is False, the streams are not modified."""

    url: str
    batch_entries: int = BATCH_ENTRIES
    batch_bytes: int = BATCH_BYTES  # of replies
    rules: TrimRules = field(default_factory=TrimRules)
    trims: bool = True
    accepts_loss: bool = False
    allows_missing: bool = False
    # The streams that must exist; None: all.
    required: frozenset[str] | None = None
    opens_new_epoch: bool = False
    lease_ms: int = LIFETIME_MS
    id_unit: str | None = None  # of new streams; None: inferred from their first entries


def nothing(_: object) -> None:
    """A hook that does nothing."""


@dataclass(slots=True)
class Hooks:
    """Callbacks of a round. `reached` is called at each step; an exception in it acts as a crash.

    `committed`: called after each commit, once the markers have been moved.
    """

    planned: Callable[[int], None] = nothing
    advanced: Callable[[int], None] = nothing
    committed: Callable[[], None] = lambda: None
    reached: Callable[[str], None] = nothing
    is_interrupted: Callable[[], bool] = lambda: False


class Archiver:
    """Archives streams of one server, or of a cluster, into one table."""

    def __init__(
        self,
        table: ArchiveTable,
        engine: Engine,
        settings: ArchiverSettings,
        hooks: Hooks | None = None,
    ) -> None:
        self._table = table
        self._engine = engine
        self._settings = settings
        self._hooks = hooks or Hooks()
        self._changes = Changes(table)

    def archive(self, stream: str, hooks: Hooks | None = None) -> StreamReport:
        """Run a round of one stream. Raises the stream's failure, and what `round` raises."""
        outcome = self.round([stream], hooks)
        if stream in outcome.failures:
            raise outcome.failures[stream]
        return outcome.reports[stream]

    def round(self, streams: Sequence[str], hooks: Hooks | None = None) -> RoundOutcome:
        """Archive all entries that the streams have now, then trim the streams.

        The failure of a single stream is returned in `failures`: Refused, StreamMissing,
        LeaseTaken, LeaseLost, NodeAway, DataLost or ArchiveError. Raises ArchiveError,
        EngineFailed, ServerError and ConnectionLost otherwise. Earlier commits remain.
        """
        group = self._table.group
        what = f"archiving {{}} to {self._table.store}"
        settings = self._settings
        with connect(settings.url) as connection:
            connection.leave_out()
            away = away_of(connection, streams)
            keys = {name: lease_key(group, name) for name in streams if name not in away}
            lifetime_ms, left_out = settings.lease_ms, connection.left_out
            with Leases(connection.url, keys, what, lifetime_ms, left_out) as leases:
                run = _Round(
                    connection,
                    leases,
                    self._table,
                    self._engine,
                    settings,
                    hooks or self._hooks,
                    self._changes,
                )
                run.run()
                run.outcome.failures |= leases.taken
                run.outcome.failures |= away
                run.outcome.away = list(connection.left_out.values())
                return run.outcome


class _Round:
    """One round. The caller holds the leases of its streams."""

    def __init__(
        self,
        connection: Connection,
        leases: Leases,
        table: ArchiveTable,
        engine: Engine,
        settings: ArchiverSettings,
        hooks: Hooks,
        changes: Changes,
    ) -> None:
        self._connection = connection
        self._table = table
        self._engine = engine
        self._settings = settings
        self._hooks = hooks
        self._planner = Planner(connection)
        self._guards = Guards(connection)
        self._changes = changes
        self._commits = Commits(table, leases, hooks.reached, changes)
        self._streams = streams = RoundStreams(leases.held, accepts_loss=settings.accepts_loss)
        self._recogniser = _Recogniser(connection, table, settings, streams)
        self._finisher = _Finisher(connection, table, settings, streams, hooks, changes)

    @property
    def outcome(self) -> RoundOutcome:
        return self._streams.outcome

    def run(self) -> None:
        """Run the round. Raises what Archiver.round raises."""
        for _ in range(MAX_ATTEMPTS):
            self._streams.retry()
            self._table.refresh()
            self._changes.check()
            self._leave_out(self._attempt())
            if not self._streams.changed():
                break
        for name, change in self._streams.changed().items():
            text = f"{name}: gave up after {MAX_ATTEMPTS} attempts: {change}"
            self._streams.fail({name: ArchiveError(text)})
        self._streams.note_losses()

    def _attempt(self) -> ConnectionLost | EngineFailed | None:
        """Archive and trim all streams that are not finished.

        Returns the error if a node of a cluster has failed meanwhile: what is not finished by then
        is recognised again.
        """
        try:
            self._archive()
        except (ConnectionLost, EngineFailed) as error:
            if not self._connection.is_cluster:
                raise
            self._streams.change_all(str(error))
            return error
        return None

    def _leave_out(self, error: ConnectionLost | EngineFailed | None) -> None:
        """Leave out changed streams whose node does not answer. Raises `error` if it has another
        cause.
        """
        if changed := list(self._streams.changed()):
            self._connection.leave_out()
            away = away_of(self._connection, changed)
            if isinstance(error, EngineFailed) and not away:
                raise error
            self._streams.fail(away)

    def _archive(self) -> None:
        """Recognise streams, then archive and trim those that were recognised."""
        record_place(self._connection, self._table.group, self._table.store.uri)
        self._recogniser.recognise()
        self._delete_returned(self._streams.at(Stage.READING, Stage.ARCHIVED))
        self._hooks.reached("recognised")
        self._mark(self._streams.at(Stage.READING, Stage.ARCHIVED))
        self._hooks.reached("marked")
        self._hooks.planned(sum(stream.left for stream in self._streams.at(Stage.READING)))
        while (reading := self._streams.at(Stage.READING)) and not self._hooks.is_interrupted():
            self._archive_batch(reading)
        for stream in self._streams.at(Stage.READING):
            stream.report.is_complete = False
        # A trim relies on the marker, so the table must know the marker's epoch first.
        while uncommitted := self._streams.uncommitted(Stage.READING, Stage.ARCHIVED):
            self._commit([Step(stream, stream.record) for stream in uncommitted], [])
        self._finisher.finish(self._streams.at(Stage.READING, Stage.ARCHIVED))

    def _delete_returned(self, streams: Sequence[RoundStream]) -> None:
        """Delete erased entries that came back, before anything of the streams is read."""
        there = {stream.name: (stream.record.state, stream.facts) for stream in streams}
        returned = delete_returned(self._connection, self._table, there)
        self._streams.change(returned, "erased entries were there again")

    def _mark(self, streams: Sequence[RoundStream]) -> None:
        """Create or move the markers that are not where archiving continues."""
        self._move_markers(
            {
                stream.name: stream.first_move(*map(self._table.marker, stream.epochs))
                for stream in streams
                if not stream.found.is_proven
            }
        )

    def _move_markers(self, moves: Mapping[str, MarkerMove]) -> None:
        """Move markers, which show in XINFO GROUPS how far the archive is."""
        for name, outcome in self._guards.move_all(moves).items():
            if outcome != DONE:
                self._streams.change([name], REASONS[outcome])

    # -- a batch ----------------------------------------------------------------------------------

    def _archive_batch(self, reading: Sequence[RoundStream]) -> None:
        """Archive a batch of streams, and trim those that have no entries left."""
        try:
            batch = self._write(reading)
        except PartLost as loss:
            self._streams.fail({loss.stream: DataLost(str(loss))})
            return
        except EntryUnreadable as error:
            self._streams.fail({error.stream: ArchiveError(str(error))})
            return
        except ServerChanged as change:
            self._streams.change([stream.name for stream in reading], str(change))
            return
        self._hooks.reached("written")
        self._streams.change(batch.changed, REASONS[ANCHOR])
        if not batch.reads:
            return
        steps = self._steps(batch)
        is_whole = len(steps) == len(batch.reads)
        others = self._streams.uncommitted(Stage.ARCHIVED)
        steps += [Step(stream, stream.record) for stream in others]
        if is_whole and self._commit(steps, batch.files):
            self._hooks.advanced(batch.rows)
            self._finisher.finish(self._streams.take_archived())
        else:
            # The files hold rows of a stream that is left out, among those of the others.
            for file in batch.files:
                self._table.store.remove(file.path)

    def _write(self, reading: Sequence[RoundStream]) -> Batch:
        settings = self._settings
        job = WriteTask(
            self._connection.url,
            self._table.store,
            (),
            settings.accepts_loss,
            self._table.period,
            frozenset(source.run_id for source in reading[0].found.seen.sources) - {""},
            settings.batch_entries,
            settings.batch_bytes,
            self._table.columns,
            self._connection.left_out,
            self._recogniser.today,
        )
        parts = [stream.part() for stream in reading]
        planned = partial(self._hooks.reached, "planned")
        return write_batch(self._engine, job, parts, self._planner, planned)

    def _steps(self, batch: Batch) -> list[Step]:
        """Return the steps of a batch, except for streams that turn out to have lost entries."""
        batch.check(self._table.store)
        self._check_markers(batch)
        reading = {stream.name for stream in self._streams.at(Stage.READING)}
        reads = {name: found for name, found in batch.reads.items() if name in reading}
        needing = [name for name in reads if self._streams[name].needs_facts(reads[name])]
        facts = all_facts(self._connection, needing)
        steps = []
        for name, found in reads.items():
            stream = self._streams[name]
            try:
                steps.append(stream.step(found, facts.get(name)))
            except DataLost as loss:
                self._streams.fail({name: loss})
            except LayoutClash as clash:
                # Two tasks have numbered their layouts alike. The batch is read again with both.
                stream.record = replace(stream.record, layouts=clash.kept)
        return steps

    def _check_markers(self, batch: Batch) -> None:
        """Check the markers of streams that were read without an anchor.

        Such a stream may have been replaced by another since it was recognised.
        """
        names = [
            name
            for name, reads in batch.reads.items()
            if any(read.part.anchor is None for read in reads)
        ]
        for name, infos in all_group_infos(self._connection, names).items():
            stream = self._streams[name]
            if group_positions(infos).get(_marker(self._table, stream)) != stream.at.id:
                self._streams.change([name], REASONS[MARKER])

    def _commit(self, steps: Sequence[Step], files: Sequence[ArchivedFile]) -> bool:
        """Commit a batch and move the markers; False if one of the streams must be left out.

        Raises ArchiveError.
        """
        errors = self._commits.commit(steps, files)
        self._streams.outcome.conflicts = self._commits.conflicts
        if errors:
            self._streams.fail(errors)
            return False
        self._committed(steps, files)
        return True

    def _committed(self, steps: Sequence[Step], files: Sequence[ArchivedFile]) -> None:
        self._streams.outcome.commits += 1
        self._streams.outcome.files += len(files)
        self._streams.outcome.bytes += sum(file.size_bytes for file in files)
        moves = {}
        for step in steps:
            stream, marker = step.stream, _marker(self._table, step.stream)
            move = stream.committed(step, self._table.record(stream.name), marker)
            if move is not None:
                moves[stream.name] = move
        self._hooks.reached("committed")
        self._move_markers(moves)
        self._hooks.reached("placed")
        self._hooks.committed()


def _marker(table: ArchiveTable, stream: RoundStream) -> str:
    return table.marker(stream.epochs[-1])


@dataclass(slots=True)
class _Recogniser:
    """Finds out which streams are those that were archived before, and what is new in them.

    `today`: of the server, when it recognised streams last.
    """

    _connection: Connection
    _table: ArchiveTable
    _settings: ArchiverSettings
    _streams: RoundStreams
    _source_is_known: bool = False
    today: date = date.max

    def recognise(self) -> None:
        """Recognise the streams that this attempt has not checked yet."""
        settings, names = self._settings, self._streams.unrecognised()
        rules = Rules(settings.opens_new_epoch, self._source_is_known)
        now_ms = server_time_ms(self._connection)
        try:
            found = recognise_all(self._connection, self._table, names, rules, now_ms)
        except ServerError as error:
            if error.code != "WRONGTYPE":
                raise
            names = [name for name in names if self._is_usable(name)]
            found = recognise_all(self._connection, self._table, names, rules, now_ms)
        records = self._table.records
        lasts = {
            name: one.seen.facts.last_id
            for name, one in found.items()
            if isinstance(one, Recognised)
        }
        units = units_of(self._connection, records, lasts, settings.id_unit, now_ms)
        self.today = day_of(now_ms)
        for name, one in found.items():
            report = self._streams.outcome.reports[name]
            before = records.get(name)
            report.end = MIN_ID if before is None else before.end.id
            if isinstance(one, Refused):
                self._streams.fail({name: one})
            elif one is None:
                report.is_missing = self._is_usable(name)
                if report.is_missing:
                    self._streams.miss(name)
            else:
                self._source_is_known |= one.is_proven
                report.notes += one.notes
                try:
                    self._streams.add(name, before, one, units[name])
                except (ArchiveError, DataLost) as error:
                    self._streams.fail({name: error})

    def _is_usable(self, name: str) -> bool:
        """Return True for a stream, and for a missing key if that is no error.

        It is an error for a required stream that was never archived, unless missing ones are
        allowed. Marks other streams as failed.
        """
        settings = self._settings
        is_required = settings.required is None or name in settings.required
        is_known = self._table.record(name) is not None
        may_be_missing = settings.allows_missing or not is_required or is_known
        try:
            [kind] = kinds_of(self._connection, [name]).values()
            if kind != "none" or not may_be_missing:
                check_there(self._connection, name)
        except StreamMissing as error:
            self._streams.fail({name: error})
            return False
        return True


@dataclass(slots=True)
class _Finisher:
    """Trims streams whose new entries are archived."""

    _connection: Connection
    _table: ArchiveTable
    _settings: ArchiverSettings
    _streams: RoundStreams
    _hooks: Hooks
    _changes: Changes
    _trimmer: Trimmer = field(init=False)

    def __post_init__(self) -> None:
        self._trimmer = Trimmer(self._connection, self._settings.rules)

    def finish(self, streams: Sequence[RoundStream]) -> None:
        """Trim streams, and destroy the archive's obsolete groups."""
        if not streams:
            return
        group = self._table.group
        lost = self._lost(streams)
        archived = {}
        for stream in streams:
            marker, end = _marker(self._table, stream), lost.get(stream.name, MAX_ID)
            archived[stream.name] = stream.archived(marker, group, end)
        # The facts of the others were read when they were recognised.
        moved = [stream.name for stream in streams if stream.is_moved]
        groups = {stream.name: stream.found.seen.groups for stream in streams}
        facts = {stream.name: stream.facts for stream in streams}
        groups |= all_group_infos(self._connection, moved)
        facts |= all_facts(self._connection, moved)
        for stream in streams:
            report, now = stream.report, facts[stream.name]
            report.end, report.epoch = stream.at.id, stream.record.state.present.number
            report.remaining, report.lag = now.length, backlog(stream.at.id, stream.at.n, now)
        # Another program may have committed after this one.
        self._changes.check_latest()
        if self._settings.trims:
            self._report_trims(streams, self._trimmer.trim_all(archived, facts, groups))
        changed = self._streams.changed()
        # Last, because until then they show which history a stream had.
        self._connection.call_all(
            [
                ("XGROUP", "DESTROY", name, stale)
                for name in archived
                if name not in changed
                for stale in map(group_name, groups[name])
                if archived[name].is_stale(stale)
            ]
        )
        self._streams.finish(archived)

    def _lost(self, streams: Sequence[RoundStream]) -> dict[str, int]:
        """Return the first entries in memory that the archive has lost: they are not trimmed."""
        records = {stream.name: stream.record for stream in streams if stream.record.absent}
        if not records or self._settings.accepts_loss:
            return {}
        found = lost_in_memory(self._connection, records)
        for stream in streams:
            if stream.name in found:
                stream.policy.notes.append(
                    f"{stream.name}: {format_id(found[stream.name])} and what follows stays in "
                    "memory, as the archive has lost entries: `rillway archive repair --to "
                    f"{self._table.store} --url ...` fills them in, --accept-loss gives them up"
                )
        return found

    def _report_trims(self, streams: Sequence[RoundStream], done: Mapping[str, Trimmed]) -> None:
        for stream in streams:
            trimmed, report = done[stream.name], stream.report
            if trimmed.refused:
                self._streams.change([stream.name], trimmed.refused)
                continue
            report.trimmed += trimmed.removed
            report.trimmed_by = trimmed.by
            report.holdups = trimmed.holdups
            report.remaining = trimmed.left
        self._hooks.reached("trimmed")
