"""Archives streams in rounds: their entries go to the table exactly once, and are then trimmed.

First all streams are recognised as those that were archived (identity/recognition.py), in one
pipeline. Then, batch by batch: tasks write entries of many streams to shared files, the files are
compared with what the tasks say, and one commit of the table names the files and up to where each
stream is archived now. That commit is the only thing that counts. Before it, there are files that
no reader sees; after it, the next batch begins after it. So there is nothing to repair after a
crash, and nothing that is done twice. Where nothing is new there is no commit.

After the commit the markers move to the new ends, if the streams still are what was read. Only what
is committed, on the disk, and before the marker is trimmed (trim.py).

A stream that is refused, has lost entries, or is archived by another archiver is left out, and the
others go on. So are the streams of a node of a cluster that does not answer. If one dies in the
middle of it, all that is not done yet is looked at again without it, as after a crash: what was
read is dropped unless it is committed, and what is committed is recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

from rillway.pipeline.archive.batches import Batch, write_batch
from rillway.pipeline.archive.columns.batches import EntryUnreadable
from rillway.pipeline.archive.columns.layouts import LayoutClash, united
from rillway.pipeline.archive.engine import Engine, EngineFailed
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.periods import day_of
from rillway.pipeline.archive.files.rows import INT64_MAX
from rillway.pipeline.archive.groups import Holdup
from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.archive.identity.guards import (
    ANCHOR,
    DONE,
    MARKER,
    REASONS,
    Guards,
    Placing,
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
from rillway.pipeline.archive.table import (
    MAX_COMMIT_ATTEMPTS,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
)
from rillway.pipeline.archive.tasks import (
    ArchiveLossPolicy,
    Part,
    PartLost,
    PartRead,
    ServerChanged,
    WriteTask,
)
from rillway.pipeline.archive.trim import Archived, Trimmed, Trimmer, TrimRules, server_time_ms
from rillway.pipeline.client.cluster import away_of, connect
from rillway.pipeline.client.connection import Connection, ConnectionLost, NodeAway, ServerError
from rillway.pipeline.client.facts import (
    StreamFacts,
    all_facts,
    all_group_infos,
    group_name,
    group_positions,
    read_facts,
)
from rillway.pipeline.client.id_units import MS
from rillway.pipeline.client.ids import MIN_ID, ms_of
from rillway.pipeline.client.places import record_place
from rillway.pipeline.ranges.anchors import Anchor, extended
from rillway.pipeline.ranges.discovery import StreamMissing, check_there, kinds_of
from rillway.pipeline.ranges.loss import DataLost, check_count
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.ranges.plan import Planner, backlog
from rillway.plurals import count_of

# A stream that changes between the look at it and the write is looked at again.
MAX_LOOKS = 5
# In the log.
MAX_NOTES = 100


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an Archiver. If `trims` is False, the streams stay as they are."""

    url: str
    batch_entries: int = BATCH_ENTRIES
    batch_bytes: int = BATCH_BYTES  # as the server sends them
    rules: TrimRules = field(default_factory=TrimRules)
    trims: bool = True
    accepts_loss: bool = False
    allows_missing: bool = False
    # Those that have to be there; None: all.
    required: frozenset[str] | None = None
    opens_new_epoch: bool = False
    lease_ms: int = LIFETIME_MS
    id_unit: str | None = None  # recognised if it is None, and fixed by the first entries


@dataclass(slots=True)
class Report:
    """The outcome of archiving one stream. `batches`: those that had entries of it; `lag`: about
    how many entries were not archived at the end, None if that was not looked at.
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
class Outcome:
    """The outcome of a round: a report for each stream, or the error for which it was left out.

    `commits`, `files` and `bytes`: of all streams together; `conflicts`: commits that came second;
    `away`: nodes that do not answer, also if none of the streams is on them.
    """

    reports: dict[str, Report] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)
    commits: int = 0
    files: int = 0
    bytes: int = 0
    conflicts: int = 0
    away: Sequence[NodeAway] = ()

    @property
    def archived(self) -> int:
        return sum(report.archived for report in self.reports.values())


def nothing(_: object) -> None:
    """A hook that does nothing."""


@dataclass(slots=True)
class Hooks:
    """Callbacks of a run. `reached` is called at each step; its exceptions act as crashes.

    `committed`: after a commit, when the markers were moved.
    """

    planned: Callable[[int], None] = nothing
    advanced: Callable[[int], None] = nothing
    committed: Callable[[], None] = lambda: None
    reached: Callable[[str], None] = nothing
    is_interrupted: Callable[[], bool] = lambda: False


class Archiver:
    """Archives streams of one server, or of a cluster, into one table."""

    def __init__(
        self, table: ArchiveTable, engine: Engine, settings: Settings, hooks: Hooks | None = None
    ) -> None:
        self._table = table
        self._engine = engine
        self._settings = settings
        self._hooks = hooks or Hooks()

    def archive(self, stream: str, hooks: Hooks | None = None) -> Report:
        """A round of one stream. Raises what it failed with, besides what `round` raises."""
        outcome = self.round([stream], hooks)
        if stream in outcome.failures:
            raise outcome.failures[stream]
        return outcome.reports[stream]

    def round(self, streams: Sequence[str], hooks: Hooks | None = None) -> Outcome:
        """Archive everything that is in the streams now, then trim them.

        What concerns one stream is among the failures: Refused, StreamMissing, LeaseTaken,
        LeaseLost, NodeAway, DataLost, ArchiveError. Raises ArchiveError, EngineFailed, ServerError
        and ConnectionLost for the rest. What was committed before stays.
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
                    connection, leases, self._table, self._engine, settings, hooks or self._hooks
                )
                run.run(leases.held)
                run.outcome.failures |= leases.taken
                run.outcome.failures |= away
                run.outcome.away = list(connection.left_out.values())
                return run.outcome


@dataclass(slots=True)
class _Stream:
    """A stream of a round, from when it is recognised.

    `before`: what the table knew of it then; `start`, `end`: what is to be archived; `at`: up to
    where it is; `anchor`: the last archived entry that is live; `counted`: entries since `start`.
    """

    name: str
    report: Report
    policy: ArchiveLossPolicy
    before: StreamRecord | None
    found: Recognised
    record: StreamRecord
    start: Position
    end: Position
    anchor: Anchor | None
    is_changed: bool
    counts_are_exact: bool
    counted: int = 0

    @property
    def at(self) -> Position:
        return self.record.end

    @property
    def is_done(self) -> bool:
        return self.at.id >= self.end.id

    @property
    def is_moved(self) -> bool:
        """True if it has a marker that it did not have when it was recognised."""
        return not self.found.is_proven or self.at.id != self.found.end.id

    @property
    def facts(self) -> StreamFacts:
        return self.found.seen.facts

    @property
    def left(self) -> int:
        """About how many entries are still to be archived."""
        return max(backlog(self.at.id, self.at.n, self.facts), 1)

    def part(self) -> Part:
        """What is still to be archived. It begins with an entry that is there."""
        anchor = self.anchor
        first = self.facts.first_id if anchor is None else anchor.id
        return Part(
            self.name,
            self.at.id,
            self.end.id,
            first,
            self.left,
            self.record.state.present.number,
            anchor,
            self.record.layouts,
            self.record.unit or MS,
        )


@dataclass(frozen=True, slots=True)
class _Step:
    """A stream after a batch. `rows`: the entries of the batch."""

    stream: _Stream
    record: StreamRecord
    rows: int = 0


class _Round:
    """One round, under the leases of its streams."""

    def __init__(
        self,
        connection: Connection,
        leases: Leases,
        table: ArchiveTable,
        engine: Engine,
        settings: Settings,
        hooks: Hooks,
    ) -> None:
        self._connection = connection
        self._leases = leases
        self._table = table
        self._engine = engine
        self._settings = settings
        self._hooks = hooks
        self._planner = Planner(connection)
        self._guards = Guards(connection)
        self._trimmer = Trimmer(connection, settings.rules)
        self._policies: dict[str, ArchiveLossPolicy] = {}
        # Streams that are no longer what was read, and why: they are looked at again.
        self._changed: dict[str, str] = {}
        # Streams with which the round is over.
        self._finished: set[str] = set()
        self._source_is_known = False
        self._today = date.max
        self.outcome = Outcome()

    def run(self, names: Sequence[str]) -> None:
        """Raises what Archiver.round raises."""
        for name in names:
            self.outcome.reports[name] = Report(name)
            self._policies[name] = ArchiveLossPolicy(accepts=self._settings.accepts_loss)
        for _ in range(MAX_LOOKS):
            self._table.refresh()
            self._changed = {}
            error = self._try_to_look(names)
            if self._changed:
                self._leave_out(error)
            names = list(self._changed)
            if not names:
                break
        for name, change in self._changed.items():
            text = f"{name}: gave up after {MAX_LOOKS} attempts: {change}"
            self._fail({name: ArchiveError(text)})
        for name, report in self.outcome.reports.items():
            report.notes = list(dict.fromkeys([*report.notes, *self._policies[name].notes]))

    def _try_to_look(self, names: Sequence[str]) -> ConnectionLost | EngineFailed | None:
        """If a node of a cluster has gone, all that is not done is to be looked at again."""
        try:
            self._look(names)
        except (ConnectionLost, EngineFailed) as error:
            if not self._connection.is_cluster:
                raise
            left = [name for name in self.outcome.reports if name not in self._finished]
            self._changed = dict.fromkeys(left, str(error))
            return error
        return None

    def _leave_out(self, error: ConnectionLost | EngineFailed | None) -> None:
        """Of the streams to look at again, those of nodes that do not answer. Raises `error` if it
        came from something else.
        """
        self._connection.leave_out()
        away = away_of(self._connection, self._changed)
        if isinstance(error, EngineFailed) and not away:
            raise error
        self._fail(away)
        self._changed = {name: why for name, why in self._changed.items() if name not in away}

    def _fail(self, errors: Mapping[str, Exception]) -> None:
        self.outcome.failures |= errors
        for name in errors:
            self.outcome.reports.pop(name, None)

    def _look(self, names: Sequence[str]) -> None:
        """Recognise streams, and archive and trim those that are the ones that were archived."""
        record_place(self._connection, self._table.group, self._table.store.uri)
        streams = self._recognised(names)
        self._hooks.reached("recognised")
        streams = self._marked(streams)
        self._hooks.reached("marked")
        self._hooks.planned(sum(stream.left for stream in streams if not stream.is_done))
        waiting = [stream for stream in streams if not stream.is_done]
        idle = [stream for stream in streams if stream.is_done]
        while waiting and not self._hooks.is_interrupted():
            waiting = self._archive_batch(waiting, self._changed_states(idle))
        for stream in waiting:
            stream.report.is_complete = False
        rest = [*idle, *waiting]
        # Nothing is trimmed on the word of a marker that the table does not know.
        while changed := self._changed_states(rest):
            self._commit([_Step(stream, stream.record) for stream in changed], [])
        self._finish(self._kept(rest))

    def _changed_states(self, streams: Sequence[_Stream]) -> list[_Stream]:
        """Those of which the next commit is to have the state."""
        return [stream for stream in self._kept(streams) if stream.is_changed]

    def _kept(self, streams: Sequence[_Stream]) -> list[_Stream]:
        """Those that were not left out, and need not be looked at again."""
        left_out = self.outcome.failures.keys() | self._changed.keys()
        return [stream for stream in streams if stream.name not in left_out]

    # -- recognition ------------------------------------------------------------------------------

    def _recognised(self, names: Sequence[str]) -> list[_Stream]:
        """Those that go on; the others are reported."""
        settings = self._settings
        rules = Rules(settings.opens_new_epoch, self._source_is_known)
        now_ms = server_time_ms(self._connection)
        try:
            found = recognise_all(self._connection, self._table, names, rules, now_ms)
        except ServerError as error:
            if error.code != "WRONGTYPE":
                raise
            names = [name for name in names if self._is_stream(name)]
            found = recognise_all(self._connection, self._table, names, rules, now_ms)
        streams, records = [], self._table.records
        lasts = {
            name: one.seen.facts.last_id
            for name, one in found.items()
            if isinstance(one, Recognised)
        }
        units = units_of(self._connection, records, lasts, settings.id_unit, now_ms)
        self._today = day_of(now_ms)
        for name, one in found.items():
            report = self.outcome.reports[name]
            before = records.get(name)
            report.end = MIN_ID if before is None else before.end.id
            if isinstance(one, Refused):
                self._fail({name: one})
            elif one is None:
                report.is_missing = self._is_stream(name)
            else:
                self._source_is_known |= one.is_proven
                report.notes += one.notes
                try:
                    streams.append(self._stream(name, before, one, units[name]))
                except (ArchiveError, DataLost) as error:
                    self._fail({name: error})
        return streams

    def _is_stream(self, name: str) -> bool:
        """False for a key of another type, and for a missing one that was never archived if that is
        an error: these are reported.
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
            self._fail({name: error})
            return False
        return True

    def _stream(
        self, name: str, before: StreamRecord | None, found: Recognised, unit: str | None
    ) -> _Stream:
        """Raises DataLost if entries are missing after what is archived, ArchiveError for IDs that
        no file can hold.
        """
        policy, facts = self._policies[name], found.seen.facts
        if ms_of(facts.last_id) > INT64_MAX:
            raise ArchiveError(f"{name}: has IDs of 2^63 ms or more, which Parquet cannot hold")
        start = found.checked_start(policy, name, facts)
        record = StreamRecord(found.state, start, unit=unit)
        if before is not None:
            record = replace(before, state=found.state, end=start, unit=unit)
        self.outcome.reports[name].unit = unit or MS
        return _Stream(
            name,
            self.outcome.reports[name],
            policy,
            before,
            found,
            record,
            start,
            Position(max(facts.last_id, start.id), facts.entries_added),
            found.anchor,
            found.is_changed,
            # XDEL may have removed entries in between: the number before a batch is then unknown.
            facts.max_deleted_id <= start.id and (start.id != MIN_ID or not facts.trimmed),
        )

    def _marked(self, streams: Sequence[_Stream]) -> list[_Stream]:
        """Place the markers where archiving continues; those whose markers are there."""
        placings = {}
        for stream in streams:
            found = stream.found
            if not found.is_proven:
                last = found.anchor
                branch = MIN_ID if last is None else last.id
                marker, earlier = self._marker(stream), found.state.epochs[:-1]
                others = {
                    name: found.seen.markers.get(name) for name in map(self._table.marker, earlier)
                }
                placings[stream.name] = Placing(
                    marker, found.marker, last, found.end.id, None, last, branch, others
                )
        self._place(placings)
        return self._kept(streams)

    def _marker(self, stream: _Stream) -> str:
        return self._table.marker(stream.record.state.present)

    def _place(self, placings: Mapping[str, Placing]) -> None:
        """Show in XINFO GROUPS how far the archive is."""
        for name, outcome in self._guards.place_all(placings).items():
            if outcome != DONE:
                self._changed[name] = REASONS[outcome]

    # -- a batch ----------------------------------------------------------------------------------

    def _archive_batch(
        self, waiting: Sequence[_Stream], changed: Sequence[_Stream]
    ) -> list[_Stream]:
        """Archive a batch of streams, and trim those that are done; the ones that are not.

        `changed`: streams without new entries of which the next commit is to have the state.
        """
        try:
            batch = self._write(waiting)
        except PartLost as loss:
            self._fail({loss.stream: DataLost(str(loss))})
            return self._going_on(waiting)
        except EntryUnreadable as error:
            self._fail({error.stream: ArchiveError(str(error))})
            return self._going_on(waiting)
        except ServerChanged as change:
            self._changed |= {stream.name: str(change) for stream in waiting}
            return []
        self._hooks.reached("written")
        self._changed |= dict.fromkeys(batch.changed, REASONS[ANCHOR])
        if not batch.reads:
            return self._going_on(waiting)
        steps = self._steps(waiting, batch)
        is_whole = len(steps) == len(batch.reads)
        if is_whole and self._commit([*steps, *(_Step(s, s.record) for s in changed)], batch.files):
            self._hooks.advanced(batch.rows)
            advanced = self._kept([step.stream for step in steps])
            self._finish([stream for stream in advanced if stream.is_done])
        else:
            # Rows of a stream that is left out are among those of the others.
            for file in batch.files:
                self._table.store.remove(file.path)
        return self._going_on(waiting)

    def _going_on(self, waiting: Sequence[_Stream]) -> list[_Stream]:
        return [stream for stream in self._kept(waiting) if not stream.is_done]

    def _write(self, waiting: Sequence[_Stream]) -> Batch:
        settings = self._settings
        job = WriteTask(
            self._connection.url,
            self._table.store,
            (),
            settings.accepts_loss,
            self._table.period,
            frozenset(source.run_id for source in waiting[0].found.seen.sources) - {""},
            settings.batch_entries,
            settings.batch_bytes,
            self._table.columns,
            self._connection.left_out,
            self._today,
        )
        parts = [stream.part() for stream in waiting]
        planned = partial(self._hooks.reached, "planned")
        return write_batch(self._engine, job, parts, self._planner, planned)

    def _steps(self, waiting: Sequence[_Stream], batch: Batch) -> list[_Step]:
        """The streams after a batch, without those that turn out to have lost entries."""
        batch.check(self._table.store)
        by_name = {stream.name: stream for stream in waiting}
        steps = []
        self._check_markers(by_name, batch)
        for name, reads in batch.reads.items():
            if name in self._changed:
                continue
            try:
                steps.append(self._step(by_name[name], reads))
            except DataLost as loss:
                self._fail({name: loss})
            except LayoutClash as clash:
                # Of two tasks. Known to both, the batch is read again.
                stream = by_name[name]
                stream.record = replace(stream.record, layouts=clash.kept)
        return steps

    def _check_markers(self, streams: Mapping[str, _Stream], batch: Batch) -> None:
        """Where no anchor shows that what was read is the stream that was recognised, the marker
        does: another one may have come to its place meanwhile.
        """
        names = [
            name
            for name, reads in batch.reads.items()
            if any(read.part.anchor is None for read in reads)
        ]
        for name, infos in all_group_infos(self._connection, names).items():
            stream = streams[name]
            if group_positions(infos).get(self._marker(stream)) != stream.at.id:
                self._changed[name] = REASONS[MARKER]

    def _step(self, stream: _Stream, reads: Sequence[PartRead]) -> _Step:
        """Raises DataLost, LayoutClash."""
        state, layouts = stream.record.state, stream.record.layouts
        anchors, rows = state.anchors, sum(read.rows for read in reads)
        for read in reads:
            layouts = united(layouts, read.layouts)
            anchors = extended(anchors, read.rows, read.anchors)
            stream.policy.notes += read.notes
        end = reads[-1].end
        if end == stream.end.id:
            position = stream.end
            self._check_whole(stream, stream.counted + rows)
        else:
            position = Position(end, self._counted(stream, rows))
        state = replace(state, anchors=anchors, source=stream.found.seen.source)
        record = replace(stream.record, state=state, end=position, layouts=layouts)
        return _Step(stream, record, rows)

    def _counted(self, stream: _Stream, rows: int) -> int | None:
        """The entries ever added up to where a batch ends within a stream, None if unknown.

        XDEL may have taken some before they were read, also since the stream was recognised.
        """
        n = stream.at.n
        if n is None or not stream.counts_are_exact:
            return None
        facts = read_facts(self._connection, stream.name)
        return n + rows if facts.max_deleted_id <= stream.start.id else None

    def _check_whole(self, stream: _Stream, counted: int) -> None:
        """Compare the entries counted with those ever added. Raises DataLost."""
        start, end, name = stream.start, stream.end, stream.name
        if end.n is None or start.n is None or counted >= end.n - start.n:
            return
        if start.id != MIN_ID:
            facts = stream.facts
            if facts.max_deleted_id <= start.id:
                facts = read_facts(self._connection, name)
            check_count(stream.policy, name, start, end, counted, facts)
        else:
            stream.policy.unclear(
                f"{name}: {count_of(end.n - counted, 'entry')} had been trimmed or deleted before "
                "the first round"
            )

    def _commit(self, steps: Sequence[_Step], files: Sequence[ArchivedFile]) -> bool:
        """Commit a batch and place the markers; False if one of the streams must be left out.

        Tries again after a conflict with others that have not archived the same streams. Raises
        ArchiveError.
        """
        by_name = {step.stream.name: step for step in steps}
        note = self._note(steps)
        for _ in range(MAX_COMMIT_ATTEMPTS):
            taken = {name: self._taken(name) for name, s in by_name.items() if self._is_taken(s)}
            errors = taken or self._leases.check(by_name)
            if errors:
                self._fail(errors)
                return False
            changed = {name: self._merged(name, step.record) for name, step in by_name.items()}
            number = self._table.write_state(changed, files)
            self._hooks.reached("stated")
            try:
                self._table.append(number, files, note)
            except CommitConflict:
                self.outcome.conflicts += 1
                self._table.refresh()
                if not self._is_named(number, files):
                    continue
            self._committed(steps, files)
            return True
        raise ArchiveError(
            f"{self._table.store}: gave up after {MAX_COMMIT_ATTEMPTS} attempts to commit: "
            "others committed first each time"
        )

    def _is_named(self, number: int, files: Sequence[ArchivedFile]) -> bool:
        """Return True if the commit that an object store has refused is there: a put whose answer
        was lost is tried again, and then finds itself.
        """
        if self._table.state_number == number:
            return True
        return self._table.names_any(files)

    def _is_taken(self, step: _Step) -> bool:
        before, now = step.stream.before, self._table.record(step.stream.name)
        return now is not before and (now is None or not now.is_as_archived_in(before))

    def _taken(self, name: str) -> ArchiveError:
        return ArchiveError(
            f"{name}: another archiver has archived it to {self._table.store} meanwhile"
        )

    def _merged(self, name: str, record: StreamRecord) -> StreamRecord:
        """With what has expired, and been given columns, meanwhile. Raises ArchiveError."""
        now = self._table.record(name)
        if now is None:
            return record
        try:
            layouts = united(now.layouts, record.layouts)
        except LayoutClash as clash:
            raise ArchiveError(f"{name}: {clash}: run it again") from None
        return replace(
            record,
            expired_before_ms=now.expired_before_ms,
            expired=now.expired,
            layouts=layouts,
        )

    def _note(self, steps: Sequence[_Step]) -> dict[str, str]:
        """For people who look at the log."""
        notes = [note for step in steps for note in step.stream.policy.notes]
        return {
            "rillway.operation": "archive",
            "rillway.streams": str(len(steps)),
            "rillway.entries": str(sum(step.rows for step in steps)),
        } | ({"rillway.notes": "; ".join(notes[:MAX_NOTES])} if notes else {})

    def _committed(self, steps: Sequence[_Step], files: Sequence[ArchivedFile]) -> None:
        self.outcome.commits += 1
        self.outcome.files += len(files)
        self.outcome.bytes += sum(file.size_bytes for file in files)
        placings = {}
        for step in steps:
            stream, before = step.stream, step.stream.record
            stream.before = self._table.record(stream.name)
            stream.record = step.record if stream.before is None else stream.before
            stream.is_changed = False
            stream.report.archived += step.rows
            stream.report.batches += step.rows > 0
            stream.counted += step.rows
            end = step.record.end
            if end.id > before.end.id:
                last = step.record.state.anchors[0] if step.rows else stream.anchor
                placings[stream.name] = Placing(
                    self._marker(stream),
                    before.end.id,
                    last,
                    end.id,
                    end.n,
                    stream.anchor,
                    before.end.id,
                )
                stream.anchor = last
        self._hooks.reached("committed")
        self._place(placings)
        self._hooks.reached("placed")
        self._hooks.committed()

    # -- what others see --------------------------------------------------------------------------

    def _finish(self, streams: Sequence[_Stream]) -> None:
        """Trim streams, and destroy groups of the archive's that mean nothing any more."""
        if not streams:
            return
        group = self._table.group
        archived = {
            stream.name: Archived(
                self._marker(stream),
                stream.at.id,
                stream.anchor,
                group,
                stream.record.unit or MS,
            )
            for stream in streams
        }
        # Those that have not moved were looked at when they were recognised.
        moved = [stream.name for stream in streams if stream.is_moved]
        groups = {stream.name: stream.found.seen.groups for stream in streams}
        facts = {stream.name: stream.facts for stream in streams}
        groups |= all_group_infos(self._connection, moved)
        facts |= all_facts(self._connection, moved)
        for stream in streams:
            report, now = stream.report, facts[stream.name]
            report.end, report.epoch = stream.at.id, stream.record.state.present.number
            report.remaining, report.lag = now.length, backlog(stream.at.id, stream.at.n, now)
        if self._settings.trims:
            self._report_trims(streams, self._trimmer.trim_all(archived, facts, groups))
        # Last: as long as they are there, they show which history the streams had.
        self._connection.call_all(
            [
                ("XGROUP", "DESTROY", name, stale)
                for name in archived
                if name not in self._changed
                for stale in map(group_name, groups[name])
                if archived[name].is_stale(stale)
            ]
        )
        self._finished.update(name for name in archived if name not in self._changed)

    def _report_trims(self, streams: Sequence[_Stream], done: Mapping[str, Trimmed]) -> None:
        for stream in streams:
            trimmed, report = done[stream.name], stream.report
            if trimmed.refused:
                self._changed[stream.name] = trimmed.refused
                continue
            report.trimmed += trimmed.removed
            report.trimmed_by = trimmed.by
            report.holdups = trimmed.holdups
            report.remaining = trimmed.left
        self._hooks.reached("trimmed")
