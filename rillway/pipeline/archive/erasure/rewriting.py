"""Files without erased rows, and the commit that names them with the journal.

One commit removes the rows, names the journal in the records of the streams, and renews what the
records have of erased entries: anchors (hashes of entries), and orders of fields that no other row
has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rillway.pipeline.archive.columns.layouts import from_metadata, numbers_of
from rillway.pipeline.archive.erasure.journal import Entries
from rillway.pipeline.archive.erasure.targets import Targets
from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import ArchivedFile, write_files
from rillway.pipeline.archive.files.rows import open_file, raw_entries
from rillway.pipeline.archive.files.store import ArchiveError
from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.decoder import RawEntry
from rillway.pipeline.ranges.anchors import DISTANCES, Anchor, pick
from rillway.pipeline.wire.ids import MIN_ID, make_id, parse_id


@dataclass(slots=True)
class Rewritten:
    """A file, and those that replace it without its erased rows. `layouts`: of erased rows."""

    old: ArchivedFile
    new: list[ArchivedFile] = field(default_factory=list)
    rows: int = 0
    layouts: set[int] = field(default_factory=set)


def rewrite(
    table: ArchiveTable, targets: Targets, advanced: Callable[[int], None] = lambda rows: None
) -> Iterator[Rewritten]:
    """Write each file of the table that has erased rows again. Raises ArchiveError."""
    for file in table.files():
        if targets.has_rows_in(table.store, file):
            yield _without(table, file, targets)
        advanced(file.rows)


def _without(table: ArchiveTable, file: ArchivedFile, targets: Targets) -> Rewritten:
    done = Rewritten(file)
    with paused_collector():
        done.new = write_files(
            table.store,
            _kept(table, file, targets, done),
            table.period,
            schema=table.file_schema,
            layouts=table.layouts,
            undated=file.undated_rows,
        )
    if sum(one.rows for one in done.new) + done.rows != file.rows:
        remove(table, [done])
        raise ArchiveError(f"{file.path}: the new file lacks rows")
    return done


def _kept(
    table: ArchiveTable, file: ArchivedFile, targets: Targets, done: Rewritten
) -> Iterator[pa.RecordBatch]:
    for batch in merged(table.store, [file], table.file_schema):
        is_erased = targets.mask(batch)
        erased = batch.filter(is_erased)
        done.rows += len(erased)
        done.layouts |= numbers_of(erased)
        kept = batch.filter(pc.invert(is_erased)) if len(erased) else batch
        if len(kept):
            yield kept


def remove(table: ArchiveTable, rewritten: Sequence[Rewritten]) -> None:
    """Delete new files that no commit names."""
    with suppress(OSError):
        table.store.remove(*(file.path for one in rewritten for file in one.new))


# -- records --------------------------------------------------------------------------------------


def records_without(
    table: ArchiveTable, entries: Entries, rewritten: Sequence[Rewritten]
) -> dict[str, StreamRecord]:
    """Return the records that change when entries are erased. Raises ArchiveError."""
    unused = _unused_layouts(table, rewritten)
    changed = {}
    for stream, epochs in entries.items():
        record = table.record(stream)
        if record is None:
            continue
        erased = frozenset[int]().union(*epochs.values())
        anchors = _anchors(table, stream, record, erased)
        layouts = {n: one for n, one in record.layouts.items() if n not in unused}
        if anchors != record.state.anchors or len(layouts) < len(record.layouts):
            state = replace(record.state, anchors=anchors)
            changed[stream] = replace(record, state=state, layouts=layouts)
    return changed


def _unused_layouts(table: ArchiveTable, rewritten: Sequence[Rewritten]) -> set[int]:
    """Return the layouts of erased rows that no row has any more: their names may be content."""
    unused: set[int] = set().union(*(one.layouts for one in rewritten))
    replaced = {one.old.path for one in rewritten}
    files = [file for file in table.files() if file.path not in replaced]
    files += [file for one in rewritten for file in one.new]
    for file in files:
        if not unused:
            break
        if not file.is_own:
            return set()  # its footer has no layouts
        with open_file(table.store, file) as parquet:
            unused -= _named_layouts(parquet)
    return unused


def _named_layouts(parquet: pq.ParquetFile) -> set[int]:
    try:
        return set(from_metadata(parquet.metadata.metadata))
    except (ValueError, TypeError):
        # Repair reads it as a file without any.
        return set()


def _anchors(
    table: ArchiveTable, stream: str, record: StreamRecord, erased: frozenset[int]
) -> tuple[Anchor, ...]:
    """Return the anchors, picked from the remaining rows if an erased entry was one."""
    anchors = record.state.anchors
    if all(anchor.id not in erased for anchor in anchors):
        return anchors
    return pick(_last_rows(table, stream, record, erased))


def _last_rows(
    table: ArchiveTable, stream: str, record: StreamRecord, erased: frozenset[int]
) -> list[RawEntry]:
    """Return the last remaining rows of the present line, as many as anchors may need."""
    held: deque[RawEntry] = deque(maxlen=DISTANCES[-1])
    starts = {file.first_ms for file in table.files(stream)}
    for first_ms in [*sorted(starts, reverse=True), 0]:
        held.clear()
        first = make_id(first_ms) if first_ms else MIN_ID
        rows = table.line_rows(stream, record.state.present.number, first)
        for _, batch in rows.batches():
            held.extend(entry for entry in raw_entries(batch) if parse_id(entry[0]) not in erased)
        if len(held) == held.maxlen:
            break
    return list(held)
