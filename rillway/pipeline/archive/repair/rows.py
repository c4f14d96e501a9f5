"""Checks all rows (each entry once, in order, up to the archived end), and the entries in memory.

Files are merged by stream, epoch and ID, as in a compaction. So a row that does not come after the
previous one is a duplicate or misplaced. Only one part of each file is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.decoding import RowDamaged
from rillway.pipeline.archive.columns.entries import by_stream, entries_of
from rillway.pipeline.archive.erasure.journal import all_erased
from rillway.pipeline.archive.erasure.targets import Targets
from rillway.pipeline.archive.files.extents import runs_of
from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import (
    EPOCH,
    SORTED_BY,
    STREAM,
    ArchivedFile,
    id_at,
)
from rillway.pipeline.archive.files.rows import overlapping, raw_entries
from rillway.pipeline.archive.files.store import ArchiveError, StoreFailed
from rillway.pipeline.archive.foreign.holes import lost_in_memory
from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.archive.identity.recognition import (
    Recognised,
    Refused,
    Rules,
    recognise_all,
)
from rillway.pipeline.archive.identity.walk import walk
from rillway.pipeline.archive.repair.findings import ANCHOR, LIVE, ROWS, Finding
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.decoder import timestamps
from rillway.pipeline.ranges.anchors import entry_hash
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, MS, format_id, ms_of

# For each stream: further findings most likely have the same cause.
MAX_FINDINGS = 5


@dataclass(slots=True)
class Run:
    """The first and last ID of an epoch of a stream, and the unit of the IDs."""

    first: int = MAX_ID
    last: int = MIN_ID
    unit: str = MS

    def add(self, first: int, last: int) -> None:
        self.first, self.last = min(self.first, first), max(self.last, last)


@dataclass(slots=True)
class RowsCheck:
    """The check of the rows of one snapshot.

    `runs`: by stream and epoch; `is_whole`: False if files are missing; they may contain anchors.
    """

    table: ArchiveTable
    advanced: Callable[[int], None] = lambda rows: None
    findings: list[Finding] = field(default_factory=list)
    runs: dict[str, dict[int, Run]] = field(default_factory=dict)
    hashes: dict[tuple[str, int, str], str] = field(default_factory=dict)
    is_whole: bool = True
    erased: Targets = field(default_factory=lambda: Targets({}))

    def run(self, files: Sequence[ArchivedFile]) -> None:
        """Check the rows of files. Raises ArchiveError if the state cannot be read."""
        records = self.table.records
        self.erased = Targets(all_erased(self.table.store, records))
        ids = {format_id(a.id) for record in records.values() for a in record.state.anchors}
        anchors = pa.array(sorted(ids), pa.string())
        for group in overlapping(sorted(files, key=lambda file: (file.first_ms, file.last_ms))):
            self._check_group(group, anchors)
        for stream, record in records.items():
            self._check_record(stream, record)
        for stream in sorted(self.runs.keys() - records.keys()):
            self._add(ROWS, stream, "has rows, but is not in the state")

    def _add(self, kind: str, subject: str, text: str) -> None:
        found = Finding(kind, subject, text)
        is_one_of_many = sum(one.subject == subject for one in self.findings) >= MAX_FINDINGS
        if not is_one_of_many and found not in self.findings:
            self.findings.append(found)

    # -- rows -------------------------------------------------------------------------------------

    def _check_group(self, files: Sequence[ArchivedFile], anchors: pa.Array) -> None:
        """Check files that may share a millisecond, leaving out unreadable ones."""
        try:
            self._check_rows(files, anchors)
        except ArchiveError:
            sound = [file for file in files if self._can_be_read(file)]
            if len(sound) == len(files):
                raise
            self._check_rows(sound, anchors)

    def _check_rows(self, files: Sequence[ArchivedFile], anchors: pa.Array) -> None:
        before: pa.RecordBatch | None = None
        for batch in merged(self.table.store, files, self.table.file_schema):
            if before is None:
                self._check_order(batch)
            else:
                # Includes the last row of the previous batch.
                self._check_order(pa.Table.from_batches([before, batch]).combine_chunks())
            for stream, epoch, first, last in runs_of(batch):
                run = self.runs.setdefault(stream, {}).setdefault(epoch, Run())
                run.add(id_at(batch, first), id_at(batch, last))
            self._check_columns(batch)
            self._check_erased(batch)
            for part in by_stream(batch):
                try:
                    self._remember(entries_of(self.table, part), anchors)
                except RowDamaged as error:
                    self._add(ROWS, str(part.column(STREAM)[0]), str(error))
            before = batch.slice(len(batch) - 1)
            self.advanced(len(batch))

    def _can_be_read(self, file: ArchivedFile) -> bool:
        if reason := unreadable(self.table, file):
            self._add(ROWS, file.path, reason)
            self.is_whole = False
        return not reason

    def _check_order(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Check that each row comes after the previous one."""
        if len(rows) < 2:
            return
        is_after: pa.Array | None = None
        for name in reversed(SORTED_BY):
            column = rows.column(name)
            one, other = column.slice(0, len(rows) - 1), column.slice(1)
            greater = pc.greater(other, one)
            if is_after is not None:
                greater = pc.or_(greater, pc.and_(pc.equal(other, one), is_after))
            is_after = greater
        if pc.all(is_after).as_py():
            return
        for index in pc.indices_nonzero(pc.invert(is_after)).to_pylist()[:MAX_FINDINGS]:
            one, other = (
                rows.slice(index, 1).to_pylist()[0],
                rows.slice(index + 1, 1).to_pylist()[0],
            )
            is_same = all(one[name] == other[name] for name in SORTED_BY)
            text = "is duplicated" if is_same else f"comes after {one['id']}"
            self._add(ROWS, other[STREAM], f"{other['id']} of epoch {other[EPOCH]} {text}")

    def _check_columns(self, batch: pa.RecordBatch) -> None:
        """Check that `id`, `ms`, `seq` and `ts` agree."""
        text = pc.binary_join_element_wise(
            batch.column("ms").cast(pa.string()), batch.column("seq").cast(pa.string()), "-"
        )
        # Null if the ID's time is beyond the range of a timestamp.
        ts = pc.fill_null(batch.column("ts").cast(pa.int64()), -1)
        times = pc.fill_null(self._times(batch).cast(pa.int64()), -1)
        is_same = pc.and_(pc.equal(text, batch.column("id")), pc.equal(times, ts))
        index = pc.index(pc.fill_null(is_same, False), False).as_py()
        if index >= 0:
            row = batch.slice(index, 1).to_pylist()[0]
            self._add(ROWS, row[STREAM], f"{row['id']}: its columns ms, seq, ts do not match")

    def _check_erased(self, batch: pa.RecordBatch) -> None:
        """Check that no erased row is there again: another program may restore an old version."""
        rows = batch.filter(self.erased.mask(batch))
        for row in rows.select([STREAM, "id"]).to_pylist()[:MAX_FINDINGS]:
            text = f"{row['id']} was erased, and is there again: `rillway archive erase` removes it"
            self._add(ROWS, row[STREAM], text)

    def _times(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the expected `ts`, by the unit of each stream's IDs."""
        names, ms = batch.column(STREAM), batch.column("ms")
        units = {name: self.table.unit(name) for name in names.unique().to_pylist()}
        times = timestamps(ms)
        for unit in set(units.values()) - {MS}:
            chosen = [name for name, its in units.items() if its == unit]
            is_chosen = pc.is_in(names, pa.array(chosen, pa.string()))
            times = pc.if_else(is_chosen, timestamps(ms, unit), times)
        return times

    def _remember(self, batch: pa.RecordBatch, anchors: pa.Array) -> None:
        """Remember the hashes of rows that may be anchors."""
        chosen = batch.filter(pc.is_in(batch.column("id"), anchors))
        keys = zip(chosen.column(STREAM).to_pylist(), chosen.column(EPOCH).to_pylist(), strict=True)
        for (stream, epoch), (entry_id, words) in zip(keys, raw_entries(chosen), strict=True):
            self.hashes[stream, epoch, entry_id.decode()] = entry_hash(words)

    # -- rows and state ---------------------------------------------------------------------------

    def _check_record(self, stream: str, record: StreamRecord) -> None:
        numbers = {epoch.number for epoch in record.state.epochs}
        runs = self.runs.get(stream, {})
        for number in sorted(runs.keys() - numbers):
            text = f"has rows of epoch {number}, which is not in the state"
            self._add(ROWS, stream, text)
        for epoch in record.state.epochs:
            run = runs.get(epoch.number, Run())
            end = record.end.id if epoch.end is None else epoch.end
            if run.last > end:
                text = f"has rows up to {format_id(run.last)}, but is archived up to "
                self._add(ROWS, stream, text + f"{format_id(end)} in epoch {epoch.number}")
            if run.first <= epoch.branch:
                text = f"has the row {format_id(run.first)} in epoch {epoch.number}, which begins "
                self._add(ROWS, stream, text + f"after {format_id(epoch.branch)}")
        self._check_anchors(stream, record)

    def _check_anchors(self, stream: str, record: StreamRecord) -> None:
        for anchor in record.state.anchors:
            entry_id = format_id(anchor.id)
            found = {
                self.hashes[stream, epoch.number, entry_id]
                for epoch in record.state.epochs
                if (stream, epoch.number, entry_id) in self.hashes
            }
            present = record.state.present.number
            is_absent = any(record.lacks(one.number, anchor.id) for one in record.state.epochs)
            if (
                not found
                and not is_absent
                and self.is_whole
                and ms_of(anchor.id) > self.table.expired_ms(stream, present)
            ):
                self._add(ANCHOR, stream, f"no row has the archived entry {entry_id}")
            elif found and anchor.hash not in found:
                self._add(ANCHOR, stream, f"the row {entry_id} is not what was archived")


def unreadable(table: ArchiveTable, file: ArchivedFile) -> str:
    """Return damage in the data pages, which the footer does not reveal; empty if there is none."""
    try:
        for _ in merged(table.store, [file], table.file_schema):
            pass
    except StoreFailed:
        raise
    except ArchiveError as error:
        return str(error).removeprefix(f"{table.store}: {file.path}, which the log names: ")
    return ""


# -- memory ---------------------------------------------------------------------------------------


def check_live(connection: Connection, table: ArchiveTable) -> list[Finding]:
    """Find entries in memory up to the archived end that no row has, and refused streams.

    Raises ArchiveError, ServerError, ConnectionLost.
    """
    findings = []
    for stream, found in _recognised(connection, table).items():
        if isinstance(found, Refused):
            text = str(found).removeprefix(f"{stream}: ")
            findings.append(Finding(LIVE, stream, f"would be refused: {text}"))
            continue
        record = table.record(stream)
        if found is None or record is None:
            continue
        walked = walk(connection, table, stream, record.state.present.number, record.end.id)
        if walked.lacking is not None and not (found.is_proven and walked.has_expired):
            text = f"{format_id(walked.lacking)} is in memory, but no row of this history has it"
            findings.append(Finding(LIVE, stream, text))
    for stream, first in lost_in_memory(connection, table.records).items():
        text = f"{format_id(first)} is in memory, and lost in the archive: repair --url fills it in"
        findings.append(Finding(LIVE, stream, text))
    return findings


def _recognised(
    connection: Connection, table: ArchiveTable
) -> dict[str, Recognised | Refused | None]:
    """Recognise all streams. Repeats refusals if an archiver has committed the stream meanwhile."""
    decided: dict[str, Recognised | Refused | None] = {}
    names = table.streams()
    while names:
        before = {name: table.record(name) for name in names}
        decided |= recognise_all(connection, table, names, Rules(), 0)
        table.refresh()
        refused = [name for name in names if isinstance(decided[name], Refused)]
        names = [name for name in refused if table.record(name) != before[name]]
    return decided
