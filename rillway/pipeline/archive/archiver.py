"""Archives a stream: its entries go to the table exactly once, and are then trimmed.

First the stream is recognised as the one that was archived (identity/recognition.py). Then, for
each batch: the range is fixed by IDs, its entries are counted, tasks write them to files, files and
count are compared, and one commit of the table names the files and the new end. That commit is the
only thing that counts. Before it, there are files that no reader sees; after it, the next batch
begins after it. So there is nothing to repair after a crash, and nothing that is done twice.

After the commit the marker moves to the new end, if the stream still is what was read. Only what is
committed, on the disk, and before the marker is trimmed (trim.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from rillway.pipeline.archive.engine import Engine
from rillway.pipeline.archive.groups import Holdup
from rillway.pipeline.archive.identity.epochs import StreamState
from rillway.pipeline.archive.identity.guards import DONE, REASONS, Guards, Placing
from rillway.pipeline.archive.identity.recognition import Recognised, Rules, recognise
from rillway.pipeline.archive.lease import LIFETIME_MS, Lease
from rillway.pipeline.archive.limits import BATCH_BYTES, BATCH_ENTRIES
from rillway.pipeline.archive.parquet_files import (
    ArchivedFile,
    ArchiveLossPolicy,
    ServerChanged,
    WriteTask,
    footer_facts,
)
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict
from rillway.pipeline.archive.trim import Archived, Trimmer, TrimRules, server_time_ms
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.facts import StreamFacts, group_infos, group_name, read_facts
from rillway.pipeline.client.ids import MIN_ID, format_id, ms_of
from rillway.pipeline.ranges.anchors import extended
from rillway.pipeline.ranges.discovery import check_there
from rillway.pipeline.ranges.loss import check_count
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.ranges.plan import Planner, Range

# A task for fewer entries than that costs more than it saves.
MIN_TASK_ENTRIES = 10_000
MAX_COMMIT_ATTEMPTS = 20
# A stream that changes between the look at it and the write is looked at again.
MAX_LOOKS = 5


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
    opens_new_epoch: bool = False
    lease_ms: int = LIFETIME_MS


@dataclass(slots=True)
class Report:
    """The outcome of archiving one stream."""

    stream: str
    archived: int = 0
    batches: int = 0
    files: int = 0
    bytes: int = 0
    trimmed: int = 0
    trimmed_by: str = ""
    end: int = MIN_ID
    remaining: int = 0
    is_complete: bool = True
    is_missing: bool = False
    holdups: list[Holdup] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def nothing(_: object) -> None:
    """A hook that does nothing."""


@dataclass(slots=True)
class Hooks:
    """Callbacks of a run. `reached` is called at each step; its exceptions act as crashes."""

    planned: Callable[[int], None] = nothing
    advanced: Callable[[int], None] = nothing
    reached: Callable[[str], None] = nothing
    is_interrupted: Callable[[], bool] = lambda: False


class StreamChanged(Exception):
    """A stream is no longer what was read, and must be read again. The text says why."""


class Archiver:
    """Archives streams of one server into one table.

    `source_is_known`: set once the marker of a stream has shown that the server has what was
    archived; then streams without any marker are begun again.
    """

    def __init__(
        self, table: ArchiveTable, engine: Engine, settings: Settings, hooks: Hooks | None = None
    ) -> None:
        self._table = table
        self._engine = engine
        self._settings = settings
        self._hooks = hooks or Hooks()
        self.source_is_known = False

    def archive(self, stream: str, hooks: Hooks | None = None) -> Report:
        """Archive everything that is in the stream now, then trim it.

        Raises Refused, StreamMissing, LeaseTaken, LeaseLost, DataLost, ArchiveError, EngineFailed,
        ServerError and ConnectionLost. What was committed before the error stays.
        """
        lease_key = f"{self._table.group}:lease:{{{stream}}}"
        what = f"archiving {stream} to {self._table.store}"
        with (
            Lease(self._settings.url, lease_key, what, self._settings.lease_ms) as lease,
            Connection(self._settings.url) as connection,
        ):
            self._table.refresh()
            report = Report(stream)
            policy = ArchiveLossPolicy(accepts=self._settings.accepts_loss)
            for look in range(MAX_LOOKS):
                run = _Run(report, policy, connection, lease, self._table, self._engine)
                try:
                    self._recognise(run)
                    run.run(hooks or self._hooks)
                    break
                except (StreamChanged, ServerChanged) as change:
                    if look == MAX_LOOKS - 1:
                        raise ArchiveError(
                            f"{stream}: gave up after {MAX_LOOKS} attempts: {change}"
                        ) from None
                    connection.reopen()
                    self._table.refresh()
            report.notes = list(dict.fromkeys([*report.notes, *policy.notes]))
            return report

    def _recognise(self, run: _Run) -> None:
        rules = Rules(self._settings.opens_new_epoch, self.source_is_known)
        run.recognise(self._settings, rules)
        self.source_is_known |= run.is_proven


class _Run:
    """One run of archiving one stream, under its lease."""

    def __init__(
        self,
        report: Report,
        policy: ArchiveLossPolicy,
        connection: Connection,
        lease: Lease,
        table: ArchiveTable,
        engine: Engine,
    ) -> None:
        self._stream = report.stream
        self._connection = connection
        self._lease = lease
        self._table = table
        self._engine = engine
        self._planner = Planner(connection)
        self._guards = Guards(connection)
        self._policy = policy
        self._report = report
        self._counted = 0
        self._found: Recognised | None = None

    @property
    def is_proven(self) -> bool:
        return self._found is not None and self._found.is_proven

    def recognise(self, settings: Settings, rules: Rules) -> None:
        """Recognise the stream as the one that was archived. Raises Refused, StreamMissing."""
        self._settings = settings
        stored = self._table.end(self._stream)
        if stored is None and not settings.allows_missing:
            check_there(self._connection, self._stream)
        self._version = self._table.state_number(self._stream)
        now_ms = server_time_ms(self._connection)
        self._found = recognise(self._connection, self._table, self._stream, rules, now_ms)
        self._report.end = MIN_ID if stored is None else stored.id

    def run(self, hooks: Hooks) -> None:
        """Archive and trim. Raises StreamChanged as well."""
        hooks.reached("recognised")
        found = self._found
        if found is None:
            self._report.is_missing = True
            return
        self._begin(found)
        hooks.reached("marked")
        facts = read_facts(self._connection, self._stream)
        start = found.checked_start(self._policy, self._stream, facts)
        end = Position(max(facts.last_id, start.id), facts.entries_added)
        hooks.planned(self._estimate(start, facts))
        # XDEL may have removed entries in between: the number before a batch is then unknown.
        counts_are_exact = facts.max_deleted_id <= start.id and (
            start.id != MIN_ID or not facts.trimmed
        )
        at = start
        while at.id < end.id and not hooks.is_interrupted():
            last, counted, is_last = self._batch_end(at.id, end.id)
            self._counted += counted
            if is_last:
                batch_end = end
                self._check_whole(start, end)
            else:
                known = counts_are_exact and at.n is not None
                batch_end = Position(last, (at.n or 0) + counted if known else None)
            hooks.reached("planned")
            self._archive_batch(at, batch_end, counted, hooks)
            hooks.advanced(counted)
            at = batch_end
        if self._is_changed:
            self._lease.check()
            self._commit(at, at, [], self._state)
            hooks.reached("committed")
        self._report.is_complete = at.id >= end.id
        self._finish(at, hooks)

    def _begin(self, found: Recognised) -> None:
        """Place the marker where archiving continues. Raises StreamChanged."""
        self._report.notes += found.notes
        self._state, self._anchor = found.state, found.anchor
        self._is_changed = found.is_changed
        self._marker = self._table.marker(found.state.present)
        self._end = found.end
        if not found.is_proven:
            last = found.anchor
            branch = MIN_ID if last is None else last.id
            self._place(Placing(self._marker, found.marker, last, found.end.id, None, last, branch))

    def _batch_end(self, after: int, end: int) -> tuple[int, int, bool]:
        """Return the last ID of the next batch, its number of entries, and True if it is last."""
        settings = self._settings
        limit = settings.batch_entries
        # To keep a limit of bytes, all is read twice; so only where it may matter.
        size = self._planner.sample_entry_bytes(Range(self._stream, after, end))
        max_bytes = settings.batch_bytes if 2 * size * limit > settings.batch_bytes else None
        last, counted = self._planner.end_within(self._stream, after, end, limit, max_bytes)
        # The last entries may have been deleted: then the end is an ID that is not there.
        is_last = last == end or self._planner.found([Range(self._stream, last, end)]) == [None]
        return last, counted, is_last

    def _estimate(self, start: Position, facts: StreamFacts) -> int:
        if start.n is None:
            return facts.length
        return max(min(facts.entries_added - start.n, facts.length), 0)

    def _check_whole(self, start: Position, end: Position) -> None:
        """Compare the entries counted with those ever added. Raises StreamChanged, DataLost."""
        facts = read_facts(self._connection, self._stream)
        if facts.last_id < end.id:
            raise StreamChanged(f"it ends at {format_id(facts.last_id)} now")
        if start.id != MIN_ID:
            check_count(self._policy, self._stream, start, end, self._counted, facts)
        elif end.n is not None and (gone := end.n - self._counted) > 0:
            self._policy.unclear(
                f"{self._stream}: {gone:,} entries had been trimmed or deleted before they could "
                "be archived for the first time"
            )

    # -- a batch ----------------------------------------------------------------------------------

    def _archive_batch(self, start: Position, end: Position, counted: int, hooks: Hooks) -> None:
        files = self._write(start, end, counted) if counted else []
        hooks.reached("written")
        files = self._verified(files, start, end, counted)
        anchors = self._state.anchors
        for file in files:
            anchors = extended(anchors, file.rows, file.anchors)
        assert self._found is not None
        state = replace(self._state, anchors=anchors, source=self._found.seen.source)
        self._lease.check()
        self._commit(start, end, files, state)
        self._report.archived += sum(file.rows for file in files)
        self._report.batches += 1
        self._report.files += len(files)
        self._report.bytes += sum(file.size_bytes for file in files)
        hooks.reached("committed")
        last = anchors[0] if files else self._anchor
        self._place(Placing(self._marker, start.id, last, end.id, end.n, self._anchor, start.id))
        self._anchor, self._end = last, end
        hooks.reached("placed")

    def _write(self, start: Position, end: Position, counted: int) -> list[ArchivedFile]:
        every = max(ceil(counted / self._engine.parallelism), MIN_TASK_ENTRIES)
        wanted = Range(self._stream, start.id, end.id)
        slices = self._planner.slices(wanted, estimate=counted, every=every)
        settings = self._settings
        assert self._found is not None
        return self._engine.write(
            [
                WriteTask(
                    settings.url,
                    self._table.store,
                    part,
                    settings.accepts_loss,
                    self._table.period,
                    self._state.present.number,
                    self._found.seen.source.run_id,
                )
                for part in slices
            ]
        )

    def _verified(
        self, files: Sequence[ArchivedFile], start: Position, end: Position, counted: int
    ) -> list[ArchivedFile]:
        """Return the files in order, after comparing what is on the disk with what was counted.

        Raises ArchiveError, DataLost, StreamChanged.
        """
        before = start.id
        ordered = sorted(files, key=lambda file: file.first_id)
        for file in ordered:
            if not before < file.first_id <= file.last_id <= end.id:
                raise ArchiveError(f"{file.path}: its entries are not of the range to be archived")
            before = file.last_id
            said = file.rows, ms_of(file.first_id), ms_of(file.last_id)
            if footer_facts(self._table.store, file) != said:
                raise ArchiveError(f"{file.path}: the file is not what was written")
        rows = sum(file.rows for file in files)
        if rows == counted:
            return ordered
        bounds = f"after {format_id(start.id)} up to {format_id(end.id)}"
        text = f"{self._stream}: counted {counted:,} entries {bounds}, and read {rows:,}"
        facts = read_facts(self._connection, self._stream)
        if rows < counted and facts.max_deleted_id > start.id:
            self._policy.unclear(f"{text}: the others were deleted meanwhile")
        elif rows < counted:
            self._policy.lost(f"{text}: the others were trimmed meanwhile")
        else:
            raise StreamChanged(text)
        return ordered

    def _commit(
        self, start: Position, end: Position, files: Sequence[ArchivedFile], state: StreamState
    ) -> None:
        """Commit a batch; try again after a conflict with a compaction. Raises ArchiveError."""
        note = {
            "rillway.operation": "archive",
            "rillway.stream": self._stream,
            "rillway.epoch": str(state.present.number),
            "rillway.after": format_id(start.id),
            "rillway.end": format_id(end.id),
        } | ({"rillway.notes": "; ".join(self._policy.notes)} if self._policy.notes else {})
        for _ in range(MAX_COMMIT_ATTEMPTS):
            if self._table.state_number(self._stream) != self._version:
                where = self._table.store
                raise ArchiveError(
                    f"{self._stream}: another archiver has archived it to {where} meanwhile"
                )
            try:
                self._table.append(self._stream, end, files, state, note)
            except CommitConflict:
                self._table.refresh()
                continue
            self._version = self._table.state_number(self._stream)
            self._state, self._is_changed = state, False
            return
        raise ArchiveError(
            f"{self._table.store}: gave up after {MAX_COMMIT_ATTEMPTS} attempts to commit: "
            "others committed first each time"
        )

    # -- what others see --------------------------------------------------------------------------

    def _place(self, placing: Placing) -> None:
        """Show in XINFO GROUPS how far the archive is. Raises StreamChanged."""
        outcome = self._guards.place(self._stream, placing)
        if outcome != DONE:
            raise StreamChanged(REASONS[outcome])

    def _finish(self, at: Position, hooks: Hooks) -> None:
        self._report.end = at.id
        stale = self._stale()
        if self._settings.trims:
            archived = Archived(self._marker, at.id, self._anchor, stale)
            trimmed = Trimmer(self._connection, self._settings.rules).trim(self._stream, archived)
            if trimmed.refused:
                raise StreamChanged(trimmed.refused)
            self._report.trimmed, self._report.trimmed_by = trimmed.removed, trimmed.by
            self._report.holdups = trimmed.holdups
            hooks.reached("trimmed")
        # Last: as long as it is there, it shows which history the stream had.
        self._connection.call_all([("XGROUP", "DESTROY", self._stream, name) for name in stale])
        self._report.remaining = read_facts(self._connection, self._stream).length

    def _stale(self) -> frozenset[str]:
        """Return the archive's obsolete groups: those of earlier epochs and of other streams."""
        names = {group_name(info) for info in group_infos(self._connection, self._stream)}
        own = {n for n in names if n == self._table.group or n.startswith(f"{self._table.group}:")}
        return frozenset(own - {self._marker})
