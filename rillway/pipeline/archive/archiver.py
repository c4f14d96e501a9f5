"""From a stream to the table, exactly once, and then out of the stream.

For each batch: the range is fixed by IDs, its entries are counted, tasks write them to files, files
and count are compared, and one commit of the table names the files and the new end. That commit is
the only thing that counts. Before it, there are files that no reader sees; after it, the next batch
begins after it. So there is nothing to repair after a crash, and nothing that is done twice.

Only what is committed, and on the disk, is trimmed (trim.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil

from rillway.pipeline.archive.engine import Engine
from rillway.pipeline.archive.groups import Holdup
from rillway.pipeline.archive.lease import LIFETIME_MS, Lease
from rillway.pipeline.archive.limits import BATCH_BYTES, BATCH_ENTRIES
from rillway.pipeline.archive.parquet_files import (
    ArchivedFile,
    ArchiveLossPolicy,
    WriteTask,
    footer_facts,
)
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict
from rillway.pipeline.archive.trim import Trimmer, TrimRules
from rillway.pipeline.client.connection import Connection, ServerError
from rillway.pipeline.client.facts import StreamFacts, read_facts
from rillway.pipeline.client.ids import MIN_ID, format_id, ms_of
from rillway.pipeline.ranges.discovery import check_there
from rillway.pipeline.ranges.loss import check_count, check_end, check_start
from rillway.pipeline.ranges.offsets import BEGINNING, Position
from rillway.pipeline.ranges.planning import Planner, Range

# A task for fewer entries than that costs more than it saves.
MIN_TASK_ENTRIES = 10_000
MAX_COMMIT_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Settings:
    """How to archive. `trims`: False leaves the streams as they are."""

    url: str
    batch_entries: int = BATCH_ENTRIES
    batch_bytes: int = BATCH_BYTES  # as the server sends them
    rules: TrimRules = field(default_factory=TrimRules)
    trims: bool = True
    accepts_loss: bool = False
    allows_missing: bool = False
    lease_ms: int = LIFETIME_MS


@dataclass(slots=True)
class Report:
    """What was done with a stream."""

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
    holdups: list[Holdup] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def nothing(_: object) -> None:
    """A hook that does nothing."""


@dataclass(slots=True)
class Hooks:
    """Callbacks while it runs. `reached` is called at each step; raising there is a crash."""

    planned: Callable[[int], None] = nothing
    advanced: Callable[[int], None] = nothing
    reached: Callable[[str], None] = nothing
    is_interrupted: Callable[[], bool] = lambda: False


class Archiver:
    """Archives streams of one server into one table."""

    def __init__(
        self, table: ArchiveTable, engine: Engine, settings: Settings, hooks: Hooks | None = None
    ) -> None:
        self._table = table
        self._engine = engine
        self._settings = settings
        self._hooks = hooks or Hooks()

    def archive(self, stream: str) -> Report:
        """Everything that is in the stream now, and then the trim.

        Raises StreamMissing, LeaseTaken, LeaseLost, DataLost, ArchiveError, EngineFailed,
        ServerError and ConnectionLost. Whatever was committed before that stays.
        """
        lease_key = f"{self._table.group}:lease:{{{stream}}}"
        what = f"archiving {stream} to {self._table.store}"
        with (
            Lease(self._settings.url, lease_key, what, self._settings.lease_ms) as lease,
            Connection(self._settings.url) as connection,
        ):
            self._table.refresh()
            run = _Run(stream, connection, lease, self._table, self._engine, self._settings)
            return run.run(self._hooks)


class _Run:
    """One stream, once, under its lease."""

    def __init__(
        self,
        stream: str,
        connection: Connection,
        lease: Lease,
        table: ArchiveTable,
        engine: Engine,
        settings: Settings,
    ) -> None:
        self._stream = stream
        self._connection = connection
        self._lease = lease
        self._table = table
        self._engine = engine
        self._settings = settings
        self._planner = Planner(connection)
        self._policy = ArchiveLossPolicy(accepts=settings.accepts_loss)
        self._report = Report(stream)

    def run(self, hooks: Hooks) -> Report:
        stored = self._table.end(self._stream)
        if stored is None and not self._settings.allows_missing:
            check_there(self._connection, self._stream)
        self._place_group(stored or BEGINNING)
        facts = read_facts(self._connection, self._stream)
        start = self._checked_start(stored, facts)
        end = Position(facts.last_id, facts.entries_added)
        hooks.planned(self._estimate(start, facts))
        # XDEL may have taken some from between: how many are before a batch is then not known.
        counts_are_exact = facts.max_deleted_id <= start.id and (
            stored is not None or not facts.trimmed
        )
        at = start
        while at.id < end.id and not hooks.is_interrupted():
            last, counted, is_last = self._batch_end(at.id, end.id)
            self._report.archived += counted
            if is_last:
                batch_end = end
                self._check_whole(stored, start, end)
            else:
                known = counts_are_exact and at.n is not None
                batch_end = Position(last, (at.n or 0) + counted if known else None)
            hooks.reached("planned")
            self._archive_batch(at, batch_end, counted, hooks)
            hooks.advanced(counted)
            at = batch_end
        self._report.is_complete = at.id >= end.id
        self._finish(at, hooks)
        return self._report

    def _batch_end(self, after: int, end: int) -> tuple[int, int, bool]:
        """The last ID of the next batch, how many entries it has, and whether nothing follows."""
        settings = self._settings
        limit = settings.batch_entries
        # To keep a limit of bytes, all is read twice; so only where it may matter.
        size = self._planner.sample_entry_bytes(Range(self._stream, after, end))
        max_bytes = settings.batch_bytes if 2 * size * limit > settings.batch_bytes else None
        last, counted = self._planner.end_within(self._stream, after, end, limit, max_bytes)
        # The last entries may have been deleted: then the end is an ID that is not there.
        is_last = last == end or self._planner.found([Range(self._stream, last, end)]) == [None]
        return last, counted, is_last

    def _checked_start(self, stored: Position | None, facts: StreamFacts) -> Position:
        """Where to begin. Raises DataLost if what follows is not all there."""
        if stored is None:
            return BEGINNING
        known = stored
        if stored.n is None:
            # That the stream has been trimmed up to here says nothing then: we did it.
            known = Position(stored.id, min(facts.trimmed, facts.entries_added))
        check_start(self._policy, self._stream, known, facts)
        return stored

    def _estimate(self, start: Position, facts: StreamFacts) -> int:
        if start.n is None:
            return facts.length
        return max(min(facts.entries_added - start.n, facts.length), 0)

    def _check_whole(self, stored: Position | None, start: Position, end: Position) -> None:
        """Once all is counted: whether it is what was ever added."""
        facts = read_facts(self._connection, self._stream)
        check_end(self._policy, self._stream, end, facts)
        if stored is not None:
            check_count(self._policy, self._stream, start, end, self._report.archived, facts)
        elif end.n is not None and (gone := end.n - self._report.archived) > 0:
            self._policy.unclear(
                f"{self._stream}: {gone:,} entries had been trimmed or deleted before they could "
                "be archived for the first time"
            )

    # -- a batch ----------------------------------------------------------------------------------

    def _archive_batch(self, start: Position, end: Position, counted: int, hooks: Hooks) -> None:
        files = self._write(start, end, counted) if counted else []
        hooks.reached("written")
        self._verify(files, start, end, counted)
        self._lease.check()
        self._commit(start, end, files)
        hooks.reached("committed")
        self._place_group(end)
        hooks.reached("placed")
        self._report.batches += 1
        self._report.files += len(files)
        self._report.bytes += sum(file.size_bytes for file in files)

    def _write(self, start: Position, end: Position, counted: int) -> list[ArchivedFile]:
        every = max(ceil(counted / self._engine.parallelism), MIN_TASK_ENTRIES)
        wanted = Range(self._stream, start.id, end.id)
        slices = self._planner.slices(wanted, estimate=counted, every=every)
        settings = self._settings
        return self._engine.write(
            [
                WriteTask(
                    settings.url,
                    self._table.store,
                    part,
                    settings.accepts_loss,
                    self._table.period,
                )
                for part in slices
            ]
        )

    def _verify(
        self, files: Sequence[ArchivedFile], start: Position, end: Position, counted: int
    ) -> None:
        """Compare what lies on the disk with what was counted. Raises ArchiveError, DataLost."""
        before = start.id
        for file in sorted(files, key=lambda file: file.first_id):
            if not before < file.first_id <= file.last_id <= end.id:
                raise ArchiveError(f"{file.path}: its entries are not of the range to be archived")
            before = file.last_id
            said = file.rows, ms_of(file.first_id), ms_of(file.last_id)
            if footer_facts(self._table.store, file) != said:
                raise ArchiveError(f"{file.path}: the file is not what was written")
        rows = sum(file.rows for file in files)
        if rows == counted:
            return
        bounds = f"after {format_id(start.id)} up to {format_id(end.id)}"
        text = f"{self._stream}: counted {counted:,} entries {bounds}, and read {rows:,}"
        facts = read_facts(self._connection, self._stream)
        if rows < counted and facts.max_deleted_id > start.id:
            self._policy.unclear(f"{text}: the others were deleted meanwhile")
        elif rows < counted:
            self._policy.lost(f"{text}: the others were trimmed meanwhile")
        else:
            raise ArchiveError(text)
        self._report.archived += rows - counted

    def _commit(self, start: Position, end: Position, files: Sequence[ArchivedFile]) -> None:
        """The commit, again if a compaction came in between. Raises ArchiveError."""
        begun = start.id if start.id != MIN_ID else None
        note = {
            "rillway.operation": "archive",
            "rillway.stream": self._stream,
            "rillway.after": format_id(start.id),
            "rillway.end": format_id(end.id),
        } | ({"rillway.notes": "; ".join(self._policy.notes)} if self._policy.notes else {})
        for _ in range(MAX_COMMIT_ATTEMPTS):
            found = self._table.end(self._stream)
            if (found.id if found is not None else None) != begun:
                where = self._table.store
                raise ArchiveError(
                    f"{self._stream}: another archiver has archived it to {where} meanwhile"
                )
            try:
                self._table.append(self._stream, end, files, note)
                return
            except CommitConflict:
                self._table.refresh()
        raise ArchiveError(f"{self._table.store}: others commit all the time")

    # -- what others see --------------------------------------------------------------------------

    def _place_group(self, at: Position) -> None:
        """Show in XINFO GROUPS how far the archive is; ACKED keeps what comes after."""
        read: list[str | int] = [] if at.n is None else ["ENTRIESREAD", at.n]
        words = [self._stream, self._table.group, format_id(at.id), *read]
        try:
            self._connection.call("XGROUP", "SETID", *words)
        except ServerError as error:
            if error.code == "NOGROUP":
                self._connection.call("XGROUP", "CREATE", *words)
            elif "requires the key to exist" not in str(error):
                raise

    def _finish(self, at: Position, hooks: Hooks) -> None:
        if self._settings.trims:
            trimmed = Trimmer(self._connection, self._settings.rules).trim(self._stream, at.id)
            self._report.trimmed, self._report.trimmed_by = trimmed.removed, trimmed.by
            self._report.holdups = trimmed.holdups
            hooks.reached("trimmed")
        facts = read_facts(self._connection, self._stream)
        self._report.remaining = facts.length
        self._report.end = at.id
        self._report.notes = list(self._policy.notes)
