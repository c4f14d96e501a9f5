"""Tasks: read entries of several streams and write them to files, in this or another process.

Streams with few new entries are read in one pipeline and decoded together: decoding a page of each
stream separately would take as long as everything else. Large parts are read page by page
(ranges/reader.py) and written to files of their own.

A part ends at an ID that was fixed when it was planned, or where the limits of the task cut it off.
It begins with an existing entry, the last archived one if that is live. If that entry is found
unchanged, and each page begins with the last entry of the previous one, it is the same stream and
no trim has interfered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain

import pyarrow as pa

from rillway.net.routing import Address
from rillway.pipeline.archive.columns.batches import Run, with_columns
from rillway.pipeline.archive.columns.layouts import KnownLayouts, Layout, Layouts
from rillway.pipeline.archive.columns.schema import NO_COLUMNS, Columns
from rillway.pipeline.archive.files.parquet_files import (
    EPOCH,
    FILE_SCHEMA,
    ArchivedFile,
    FilesWriter,
    file_schema,
)
from rillway.pipeline.archive.files.periods import (
    Undated,
)
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.identity.epochs import FIRST
from rillway.pipeline.archive.identity.sources import is_there, read_run_ids
from rillway.pipeline.archive.limits import DAY
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.decoder import RawEntry, fields_decoder, repeated, timestamps
from rillway.pipeline.ranges.anchors import Anchor, extended, pick
from rillway.pipeline.ranges.loss import DataLost, LossPolicy
from rillway.pipeline.ranges.pages import MAX_REPLY_BYTES
from rillway.pipeline.ranges.plan import Slice, entry_bytes
from rillway.pipeline.ranges.reader import SliceReader
from rillway.pipeline.wire.cluster import connect, is_redirection
from rillway.pipeline.wire.connection import (
    Connection,
    NodeAway,
    ReplyTooLong,
    ServerError,
    pack,
)
from rillway.pipeline.wire.facts import read_facts
from rillway.pipeline.wire.ids import MS, NONE, format_id, parse_id

# The number of parts in one pipeline, and the estimated entries of the largest of them.
PIPELINED_PARTS, SMALL_PART = 50, 1_000
# A small part that has more entries than this is continued in the next batch.
MAX_SMALL_REPLY = 2_000
# Parts with at least this many rows have files of their own.
LARGE_PART = 50_000
DECODED_ROWS, DECODED_BYTES = 10_000, 16 << 20
NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Part:
    """The entries of a stream after `after` up to `last`.

    `first`: an entry that existed when the part was planned: one of the part, or the last archived
    one, whose hash is in `anchor` then; `estimate`: the approximate number of entries; `layouts`:
    the stream's known layouts; `unit`: the unit of the IDs.
    """

    stream: str
    after: int
    last: int
    first: int
    estimate: int
    epoch: int = FIRST
    anchor: Anchor | None = None
    layouts: Layouts = field(default_factory=dict)
    unit: str = MS

    @property
    def start(self) -> int:
        """The first ID to read: a restore may have brought back entries before `first`."""
        return min(self.first, self.after + 1)


@dataclass(frozen=True, slots=True)
class WriteTask:
    """The work of one task of an engine; it can be pickled.

    `parts`: ordered by stream; `accepts_loss`: archive what is left if entries were trimmed
    meanwhile; `run_ids`: those of the servers to read, empty if they do not report them;
    `max_entries`, `max_bytes`: limits of all parts together, the bytes as the server sends them;
    `left_out`: cluster nodes that do not answer and are not read; `today`: the date of entries
    whose IDs are not times.
    """

    url: str
    store: Store
    parts: tuple[Part, ...]
    accepts_loss: bool = False
    period: str = DAY
    run_ids: frozenset[str] = frozenset()
    max_entries: int = NO_LIMIT
    max_bytes: int = NO_LIMIT
    columns: Columns = NO_COLUMNS
    left_out: Mapping[Address, NodeAway] = field(default_factory=dict)
    today: date = date.max


@dataclass(slots=True)
class PartRead:
    """The entries read of a part: `rows` up to `end`, which is `part.last` if it was read whole.

    `anchors`: anchors among these entries; `notes`: accepted losses, for the user; `layouts`: new
    ones; `is_changed`: nothing was read because the last archived entry no longer exists.
    """

    part: Part
    end: int
    rows: int = 0
    anchors: tuple[Anchor, ...] = ()
    notes: list[str] = field(default_factory=list)
    layouts: dict[int, Layout] = field(default_factory=dict)
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a task. `parts` lacks those that the limits excluded.

    `bytes`: the approximate size of the entries as the server sent them.
    """

    files: list[ArchivedFile]
    parts: list[PartRead]
    bytes: int = 0


class ServerChanged(Exception):
    """Another server answers at the address: the entries read may belong to two histories."""


class PartLost(Exception):
    """Entries of a stream were trimmed while they were read. The arguments: stream and text."""

    @property
    def stream(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return str(self.args[1])


class ArchiveLossPolicy(LossPolicy):
    """Raises DataLost for lost entries, or adds to `notes` and archives what is left."""

    def __init__(self, *, accepts: bool) -> None:
        super().__init__(fails=not accepts)
        self.notes: list[str] = []

    def lost(self, text: str) -> None:
        if self.fails:
            raise DataLost(f"{text} (--accept-loss archives what is left)")
        self.notes.append(text)

    def unclear(self, text: str) -> None:
        self.notes.append(text)


def run_task(task: WriteTask) -> Written:
    """Read parts from the server and write them to files.

    Raises PartLost if entries were trimmed while they were read, ServerChanged after a failover,
    EntryUnreadable, ServerError, ConnectionLost.
    """
    layouts: dict[int, Layout] = {}
    with (
        paused_collector(),
        connect(task.url, task.left_out) as connection,
        FilesWriter(
            task.store,
            task.period,
            schema=file_schema(task.columns),
            layouts=layouts,
            undated=Undated({part.stream: task.today for part in task.parts if part.unit == NONE}),
        ) as writer,
    ):
        _check_servers(connection, task)
        work = _Task(task, connection, writer, layouts)
        parts = work.run()
        # Check again: other connections may have been opened meanwhile.
        _check_servers(connection, task)
        return Written(writer.finish(), parts, work.bytes)


def _check_servers(connection: Connection, task: WriteTask) -> None:
    """Raise ServerChanged if the servers are not the ones that the streams were recognised on.

    A replica that took over may lack entries that were read. Slots may move between the servers: a
    stream moves with all its entries and groups.
    """
    if task.run_ids and read_run_ids(connection) != task.run_ids:
        streams = ", ".join(sorted({part.stream for part in task.parts})[:3])
        raise ServerChanged(f"{streams}: another server answers at the address now")


@dataclass(slots=True)
class _Task:
    """One run of a task.

    `held`: entries that are not decoded yet, with their parts; `gaps`: parts whose first entry, or
    an entry between two pages, was not found; `layouts`: those of all rows, shared with the writer.
    """

    task: WriteTask
    connection: Connection
    writer: FilesWriter
    layouts: dict[int, Layout]
    done: list[PartRead] = field(default_factory=list)
    gaps: list[PartRead] = field(default_factory=list)
    entries: int = 0
    bytes: int = 0
    held: list[tuple[Part, list[RawEntry]]] = field(default_factory=list)
    held_rows: int = 0
    held_bytes: int = 0
    known: dict[str, KnownLayouts] = field(default_factory=dict)

    def run(self) -> list[PartRead]:
        for parts in _pipelines(self.task.parts):
            if parts[0].estimate > SMALL_PART:
                self._read_large(parts[0])
            else:
                self._read_small(parts)
            if self._is_full:
                self.connection.reopen()  # drops replies that are not needed
                break
        self._write_held()
        for read in self.gaps:
            self._check_gap(read)
        for read in self.done:
            if read.part.stream in self.known:
                read.layouts = self.known[read.part.stream].new
        return self.done

    @property
    def _is_full(self) -> bool:
        return self.entries >= self.task.max_entries or self.bytes >= self.task.max_bytes

    # -- small parts ------------------------------------------------------------------------------

    def _read_small(self, parts: Sequence[Part]) -> None:
        for place, (part, node) in enumerate(zip(parts, self._ask(parts), strict=True), start=1):
            before = node.received_bytes
            try:
                page = node.receive(MAX_REPLY_BYTES)
            except (ReplyTooLong, ServerError) as error:
                if isinstance(error, ServerError) and not is_redirection(error):
                    raise
                # The entries are large and need smaller pages, or the stream has moved to another
                # server. The parts after it are requested again.
                self.connection.reopen()
                self._read_large(part)
                if place < len(parts) and not self._is_full:
                    self._read_small(parts[place:])
                return
            read = PartRead(part, part.after)
            self.done.append(read)
            if not _is_as_planned(part, page):
                read.is_changed = True
                continue
            if not page or parse_id(page[0][0]) != part.first:
                self.gaps.append(read)
            size = node.received_bytes - before
            if self._take(read, page, size) and len(page) < MAX_SMALL_REPLY:
                read.end = part.last
            if self._is_full:
                return

    def _ask(self, parts: Sequence[Part]) -> list[Connection]:
        """Request parts, in one pipeline to each server; return the server of each part."""
        nodes = [self.connection.of(part.stream) for part in parts]
        for node in dict.fromkeys(nodes):
            asked = [part for part, its in zip(parts, nodes, strict=True) if its is node]
            node.send(b"".join(map(_request, asked)))
        return nodes

    # -- large parts ------------------------------------------------------------------------------

    def _read_large(self, part: Part) -> None:
        if part.estimate >= LARGE_PART:
            self._cut()
        read = PartRead(part, part.after)
        self.done.append(read)
        policy = ArchiveLossPolicy(accepts=self.task.accepts_loss)
        reader = SliceReader(self.connection, Slice(part.stream, part.start, part.last), policy)
        try:
            for number, page in enumerate(reader.pages()):
                if not number and not _is_as_planned(part, page):
                    read.is_changed = True
                    self.connection.reopen()  # the next page was requested already
                    break
                if not number and parse_id(page[0][0]) == part.first:
                    reader.gaps.clear()
                if not self._take(read, page, reader.page_bytes) or self._is_full:
                    self.gaps += [read] if reader.gaps else []
                    break
            else:
                read.end = part.last
        except DataLost as loss:
            raise PartLost(part.stream, str(loss)) from None
        read.notes += policy.notes
        if part.estimate >= LARGE_PART:
            self._cut()

    def _cut(self) -> None:
        self._write_held()
        self.writer.cut()

    # -- both -------------------------------------------------------------------------------------

    def _take(self, read: PartRead, page: list[RawEntry], size: int) -> bool:
        """Take the new entries of a page, as the limits allow; return True if it took all."""
        new = _after(page, read.part.after)
        entries = new[: self._fitting(new, size)]
        if entries:
            read.end = parse_id(entries[-1][0])
            read.anchors = extended(read.anchors, len(entries), pick(entries))
            read.rows += len(entries)
            self.entries += len(entries)
            self.held.append((read.part, entries))
            self.held_rows += len(entries)
            self.held_bytes += size
            if self.held_rows >= DECODED_ROWS or self.held_bytes >= DECODED_BYTES:
                self._write_held()
        return len(entries) == len(new)

    def _fitting(self, entries: Sequence[RawEntry], size: int) -> int:
        """Return how many of these entries fit into the limits: at least one for each task."""
        most = min(len(entries), self.task.max_entries - self.entries)
        if self.bytes + size <= self.task.max_bytes:
            self.bytes += size
            return most
        for place, (_, words) in enumerate(entries[:most]):
            next_bytes = self.bytes + entry_bytes(words)
            if next_bytes > self.task.max_bytes and self.entries + place:
                self.bytes = self.task.max_bytes  # the task is full
                return place
            self.bytes = next_bytes
        return most

    def _write_held(self) -> None:
        if self.held:
            batch = decoded(self.held)
            if self.task.columns:
                runs = list(map(self._run, self.held))
                for part in with_columns(batch, runs, self.task.columns):
                    for run in runs:
                        self.layouts.update(run.known.new)
                    self.writer.write(part)
            else:
                self.writer.write(batch)
        self.held, self.held_rows, self.held_bytes = [], 0, 0

    def _run(self, held: tuple[Part, list[RawEntry]]) -> Run:
        part, entries = held
        if part.stream not in self.known:
            self.known[part.stream] = KnownLayouts(part.layouts)
            self.layouts.update(part.layouts)
        known = self.known[part.stream]
        return Run(part.stream, known, len(entries), (tuple(e[1][::2]) for e in entries))

    def _check_gap(self, read: PartRead) -> None:
        """Find out why an entry of a part was not found. Raises PartLost."""
        part = read.part
        facts = read_facts(self.connection, part.stream)
        text = f"{part.stream}: some entries after {format_id(part.after)}"
        policy = ArchiveLossPolicy(accepts=self.task.accepts_loss)
        try:
            # Trims remove the first entries; for XDEL the server keeps the highest deleted ID.
            if facts.max_deleted_id >= part.first:
                policy.unclear(f"{text} may have been deleted or trimmed while they were read")
            else:
                now = f"begins at {format_id(facts.first_id)}" if facts.length else "is empty"
                policy.lost(f"{text} were trimmed before they were read; the stream {now} now")
        except DataLost as loss:
            raise PartLost(part.stream, str(loss)) from None
        read.notes += policy.notes


def _pipelines(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Group parts into pipelines; each large part is alone."""
    held: list[Part] = []
    for part in parts:
        is_large = part.estimate > SMALL_PART
        if held and (is_large or len(held) == PIPELINED_PARTS):
            yield held
            held = []
        if is_large:
            yield [part]
        else:
            held.append(part)
    if held:
        yield held


def _is_as_planned(part: Part, page: Sequence[RawEntry]) -> bool:
    """Return True if the last archived entry still exists. `page`: the first page of a part."""
    return part.anchor is None or is_there(part.anchor, page[:1])


def _request(part: Part) -> bytes:
    bounds = format_id(part.start), format_id(part.last)
    return pack("XRANGE", part.stream, *bounds, "COUNT", MAX_SMALL_REPLY)


def _after(page: list[RawEntry], after: int) -> list[RawEntry]:
    """Return the entries after an ID: a page may begin with archived ones."""
    place = 0
    while place < len(page) and parse_id(page[place][0]) <= after:
        place += 1
    return page[place:] if place else page


def decoded(runs: Sequence[tuple[Part, list[RawEntry]]]) -> pa.RecordBatch:
    """Decode entries of several parts together into one batch with FILE_SCHEMA."""
    entries = list(chain.from_iterable(entries for _, entries in runs))
    lengths = [len(entries) for _, entries in runs]
    batch = fields_decoder("")(entries, repeated([part.stream for part, _ in runs], lengths))
    columns = {name: batch.column(name) for name in batch.schema.names}
    if any(part.unit != MS for part, _ in runs):
        parts = columns["ms"]
        times, start = [], 0
        for (part, _), length in zip(runs, lengths, strict=True):
            times.append(timestamps(parts.slice(start, length), part.unit))
            start += length
        columns["ts"] = pa.concat_arrays(times)
    columns[EPOCH] = repeated([part.epoch for part, _ in runs], lengths, pa.int32())
    arrays = [columns[field.name].cast(field.type) for field in FILE_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=FILE_SCHEMA)
