"""A range of time over archive and stream, without gaps and duplicates.

The archive's log decides: entries up to the archived end come from the archive, later ones from the
stream, even if they are in both. Only a trim during the read could leave a gap. So the stream is
pinned first, at the archived end, and the archive is read again under the pin: nothing after either
end can then be trimmed until the pin is removed.

The stream is recognised as in the archiver (archive/identity/recognition.py). If its history
diverged from the archived one, live entries follow the point of divergence. In an archive with
several epochs, `all` takes the rows of each, `current` those of the line of the present one.

Guarantees a complete range or an error. Entries that XDEL removes from the stream stay in the
archive if they were archived before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rillway.pipeline.archive.columns.batches import Run, with_columns
from rillway.pipeline.archive.columns.decoding import columns_of
from rillway.pipeline.archive.columns.encoding import names_of
from rillway.pipeline.archive.columns.layouts import KnownLayouts
from rillway.pipeline.archive.columns.schema import NO_COLUMNS, RESCUED, Columns, FieldMap
from rillway.pipeline.archive.files.parquet_files import COMPRESSION, EPOCH, with_times
from rillway.pipeline.archive.files.periods import day_of
from rillway.pipeline.archive.files.rows import INT64_MAX, StreamRows
from rillway.pipeline.archive.identity.epochs import (
    FIRST,
)
from rillway.pipeline.archive.identity.recognition import Recognised, Refused, Rules, recognise
from rillway.pipeline.archive.identity.units import live_units
from rillway.pipeline.archive.limits import ALL, EPOCH_CHOICES
from rillway.pipeline.archive.pins import Pin
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.trim import server_time_ms
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.schema import COLUMNS, FIELDS, arrow_schema
from rillway.pipeline.ranges.discovery import check_there
from rillway.pipeline.ranges.loss import LossPolicy, check_start
from rillway.pipeline.ranges.offsets import BEGINNING, Position
from rillway.pipeline.ranges.reader import read_batches
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import StreamFacts, read_facts
from rillway.pipeline.wire.ids import (
    MAX_ID,
    MIN_ID,
    MS,
    ms_of,
    time_ms,
)

HISTORY_SCHEMA = arrow_schema().append(pa.field(EPOCH, pa.int32()))
# A stream may diverge from the archive before it is pinned.
MAX_PINS = 5
# Characters that make a path a pattern for Spark.
GLOB = frozenset("*?[]{}\\")


@dataclass(slots=True)
class History:
    """A fixed range of a stream: rows of the archive, then IDs of the stream, both in order.

    `archived`: the rows, None without an archive; `live`: first and last ID in memory, None if
    there are none; `epoch`: that of the live entries; `notes`: messages for the user; `staged`: the
    file to which `stage` copied the live entries; `columns`: the archive's typed columns; `typed`:
    those that this stream has or had, and why values are missing; `unit`: the unit of the IDs.
    """

    url: str
    stream: str
    first: int
    last: int
    archived: StreamRows | None
    live: tuple[int, int] | None
    facts: StreamFacts
    epoch: int = FIRST
    notes: list[str] = field(default_factory=list)
    staged: Path | None = None
    columns: Columns = NO_COLUMNS
    typed: tuple[pa.Field, ...] = ()
    unit: str = MS

    @property
    def schema(self) -> pa.Schema:
        """HISTORY_SCHEMA, and typed columns if the stream has some."""
        return pa.schema([*HISTORY_SCHEMA, *self.typed])

    @property
    def fields(self) -> FieldMap | None:
        """The fields that have typed columns now."""
        return self.columns.of(self.stream)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the entries in order, with `schema`, without Spark. Raises DataLost."""
        yield from self._archived_batches()
        yield from self._live_batches()

    def _archived_batches(self) -> Iterator[pa.RecordBatch]:
        if self.archived is not None:
            for epoch, batch in self.archived.batches():
                yield history_batch(batch, epoch, self.typed)

    @property
    def is_plain(self) -> bool:
        """True if Spark's own readers can read the archive.

        It is in a folder whose path is no pattern for them, no fields were moved to columns, and no
        other program has written files, maybe with rows that are there already.
        """
        if self.archived is None or not all(file.is_own for file in self.archived.files):
            return self.archived is None
        folder = self.archived.store.folder
        return folder is not None and not self.typed and GLOB.isdisjoint(str(folder))

    def _live_batches(self) -> Iterator[pa.RecordBatch]:
        if self.live is not None:
            with connect(self.url) as connection:
                for found in read_batches(connection, self.stream, *self.live):
                    batch = with_times(found, self.unit)
                    yield history_batch(self._with_columns(batch), self.epoch, self.typed)

    def _with_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return live entries with typed columns like archived ones, and all their fields."""
        if not self.typed or not len(batch):
            return batch
        run = Run(self.stream, KnownLayouts(), len(batch), names_of(batch.column(FIELDS)))
        columns = replace(self.columns, fails=False)
        (found,) = with_columns(batch, [run], columns)
        for column in self.typed:
            batch = batch.append_column(column, found.column(column.name))
        return batch

    def stage(self, folder: Path) -> None:
        """Copy live entries to a file in `folder`, for a Spark on this machine.

        Spark reads a file by itself; to read the stream it starts Python several times, which takes
        longer than copying a million entries. Raises DataLost.
        """
        if self.live is None:
            return
        self.staged = folder / "live.parquet"
        with (
            paused_collector(),
            pq.ParquetWriter(
                self.staged,
                self.schema,
                compression=COMPRESSION,
                use_dictionary=self._dictionaries,
            ) as writer,
        ):
            for batch in self._live_batches():
                writer.write_batch(batch)

    @property
    def _dictionaries(self) -> list[str]:
        """The columns of which values repeat; a dictionary of others takes time for nothing."""
        texts = [each.name for each in self.typed if pa.types.is_string(each.type)]
        return ["stream", EPOCH, f"{FIELDS}.list.element.name", *texts]


def history_batch(
    batch: pa.RecordBatch, epoch: int, typed: Sequence[pa.Field] = ()
) -> pa.RecordBatch:
    """Return entries of a stream with the columns of HISTORY_SCHEMA and typed ones."""
    numbers = pa.repeat(pa.scalar(epoch, pa.int32()), len(batch))
    entry = [batch.column(name) for name in COLUMNS]
    return pa.RecordBatch.from_arrays(
        [*entry, numbers, *(batch.column(each.name) for each in typed)],
        schema=pa.schema([*HISTORY_SCHEMA, *typed]),
    )


LEFT = "`rillway archive --accept-loss` archives what is left, and then that can be read"
ARCHIVED = "--allow-missing reads what is archived"


@contextmanager
def open_history(
    url: str,
    stream: str,
    archive: str | Path | None,
    first: int = MIN_ID,
    last: int = MAX_ID,
    *,
    epochs: str = ALL,
    fails_if_missing: bool = False,
    storage_options: Mapping[str, str] | None = None,
    bounds: Callable[[str], tuple[int, int]] | None = None,
    say: Callable[[str], None] | None = None,
) -> Iterator[History]:
    """Fix and hold a range; without `archive`, of the stream alone.

    `epochs`: `all` or `current`. `bounds`: a function of the unit of IDs that returns the range,
    instead of `first` and `last`; `say`: called with a sentence before what may take long.

    Raises ArchiveError, also for IDs that Arrow cannot hold, ServerError, ConnectionLost;
    StreamMissing, if requested, for a stream that is neither in memory nor in the archive; DataLost
    if entries are in neither; Refused if the stream is not the one that was archived; at the end,
    PinLost if the range was not held all the time.
    """
    if epochs not in EPOCH_CHOICES:
        raise ValueError(f"epochs is one of {', '.join(EPOCH_CHOICES)}, not {epochs!r}")
    table = ArchiveTable.open(archive, storage_options) if archive is not None else None
    with connect(url) as connection:
        if fails_if_missing and (table is None or table.end(stream) is None):
            check_there(connection, stream)
        unit = _unit(connection, table, stream)
        if bounds is not None:
            first, last = bounds(unit)
        rules = Rules(first=first, last=last, say=say or (lambda text: None))
        pin, found, facts = _pinned(connection, table, stream, rules)
        policy = LossPolicy(fails=True, remedy=LEFT)
        try:
            if fails_if_missing and found is None and table is not None:
                gone = LossPolicy(fails=True, remedy=ARCHIVED)
                check_start(gone, stream, table.end(stream) or BEGINNING, facts)
            start = _start(found, policy, stream, facts)
            history = _fix(url, stream, table, found, facts, first, last, epochs)
            history.unit = unit
            yield history
            if start.n is not None:
                # Others may have trimmed meanwhile.
                check_start(policy, stream, start, read_facts(connection, stream))
        except BaseException:
            pin.drop()
            raise
        pin.release()


def _unit(connection: Connection, table: ArchiveTable | None, stream: str) -> str:
    """Return the unit of IDs from the archive, or as recognised in memory."""
    if table is not None and table.record(stream) is not None:
        return table.unit(stream)
    facts = read_facts(connection, stream)
    if not facts.last_id:
        return MS
    found = live_units(connection, {stream: facts.last_id}, server_time_ms(connection))
    return found[stream] or MS


def _pinned(
    connection: Connection, table: ArchiveTable | None, stream: str, rules: Rules
) -> tuple[Pin, Recognised | None, StreamFacts]:
    """Pin the stream at its archived end. Raises ArchiveError, Refused."""
    after = _end(_recognised(connection, table, stream, rules))
    for _ in range(MAX_PINS):
        pin = Pin(connection.url, stream, after)
        try:
            if table is not None:
                table.refresh()
            facts = read_facts(connection, stream)
            found = _recognised(connection, table, stream, rules)
        except BaseException:
            pin.drop()
            raise
        if _end(found) >= after:
            return pin, found, facts
        pin.drop()
        after = _end(found)
    raise ArchiveError(f"{stream}: changes all the time")


def _recognised(
    connection: Connection, table: ArchiveTable | None, stream: str, rules: Rules
) -> Recognised | None:
    """Recognise the stream. None if archive or memory is empty. Raises ArchiveError, Refused."""
    for _ in range(MAX_PINS):
        if table is None or table.end(stream) is None:
            return None
        looked_at = table.record(stream)
        try:
            return recognise(connection, table, stream, rules, now_ms=0)
        except Refused:
            # The stream is read after the archive: an archiver may have advanced both in between.
            table.refresh()
            if table.record(stream) == looked_at:
                raise
    raise ArchiveError(f"{stream}: changes all the time")


def _end(found: Recognised | None) -> int:
    return MIN_ID if found is None else found.end.id


def _start(
    found: Recognised | None, policy: LossPolicy, stream: str, facts: StreamFacts
) -> Position:
    return BEGINNING if found is None else found.checked_start(policy, stream, facts)


def _fix(
    url: str,
    stream: str,
    table: ArchiveTable | None,
    found: Recognised | None,
    facts: StreamFacts,
    first: int,
    last: int,
    epochs: str,
) -> History:
    state = table.state(stream) if table is not None else None
    if found is not None:
        state = found.state
    live = max(first, _end(found) + 1), min(last, facts.last_id)
    if live[0] <= live[1] and ms_of(live[1]) > INT64_MAX:
        raise ArchiveError(
            f"{stream}: has IDs of 2^63 ms or more, which Arrow cannot hold; --to leaves them out"
        )
    history = History(
        url=url,
        stream=stream,
        first=first,
        last=last,
        archived=None if table is None else table.rows(stream, epochs, first, last, state),
        live=live if live[0] <= live[1] else None,
        facts=facts,
        epoch=state.present.number if state is not None else FIRST,
        notes=[] if found is None else list(found.notes),
    )
    if table is not None and table.columns:
        history.columns = table.columns
        history.typed = _typed(table, stream)
        if history.archived is not None:
            history.archived = replace(history.archived, typed=history.typed)
    if state is not None and len(state.epochs) > 1 and epochs == ALL:
        history.notes.append(
            f"{stream} has {len(state.epochs)} epochs, and the result has the entries of all: "
            "--epochs current keeps only the history that leads to the present one"
        )
    history.notes += [] if table is None else _expired(table, stream, first)
    return history


def _expired(table: ArchiveTable, stream: str, first: int) -> list[str]:
    """Return notes about entries after `first` that have expired."""
    record, expired_ms = table.record(stream), table.expired_before_ms(stream)
    if record is None or expired_ms is None:
        return []
    first_ms = time_ms(first, table.unit(stream))
    if first_ms is not None:
        is_after = first_ms < expired_ms
    else:
        is_after = ms_of(first) <= max(record.expired.values(), default=-1)
    return [f"entries from before {day_of(expired_ms)} have expired"] if is_after else []


def _typed(table: ArchiveTable, stream: str) -> tuple[pa.Field, ...]:
    """Return the typed columns that a stream has or had, in the order of the schema."""
    fields, record = table.columns.of(stream), table.record(stream)
    names = {RESCUED, *columns_of({} if record is None else record.layouts)}
    names.update(() if fields is None else (column.name for column in fields.columns))
    if names == {RESCUED}:
        return ()
    return tuple(field for field in table.columns.fields if field.name in names)
