"""Tasks: entries of several streams from the server into files, in this process or on another.

Streams with few new entries are asked for in one pipeline, and what comes is decoded together: to
decode a page of each stream by itself takes as long as all the rest. Large parts are read page by
page (ranges/reader.py), into files of their own.

A part ends at an ID that was fixed when it was planned, or where the limits of the task close it.
It begins with an entry that was there, the last archived one if that is live: as long as it is
found, with its bytes, and the last entry of each page at the beginning of the next, it is the same
stream and no trim has come between.
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
from rillway.pipeline.client.cluster import connect, is_redirection
from rillway.pipeline.client.connection import (
    Connection,
    NodeAway,
    ReplyTooLong,
    ServerError,
    pack,
)
from rillway.pipeline.client.facts import read_facts
from rillway.pipeline.client.ids import MS, NONE, format_id, parse_id
from rillway.pipeline.ranges.anchors import Anchor, extended, pick
from rillway.pipeline.ranges.loss import DataLost, LossPolicy
from rillway.pipeline.ranges.pages import MAX_REPLY_BYTES
from rillway.pipeline.ranges.plan import Slice, entry_bytes
from rillway.pipeline.ranges.reader import SliceReader

# Asked for in one pipeline: so many parts, which are about that large at most.
PIPELINED_PARTS, SMALL_PART = 50, 1_000
# A part is read on in the next batch if it is larger than it was thought to be.
MAX_SMALL_REPLY = 2_000
# A part of so many rows has files of its own.
LARGE_PART = 50_000
DECODED_ROWS, DECODED_BYTES = 10_000, 16 << 20
NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Part:
    """The entries of a stream after `after` up to `last`. `first` was there when it was planned:
    one of them, or the last archived one that is live, and then `anchor` is what it holds.
    `estimate`: about how many they are. `layouts`: those that the archive knows of the stream.
    `unit`: of the IDs.
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
        """Where to read from: a restore may have brought back entries before `first`."""
        return min(self.first, self.after + 1)


@dataclass(frozen=True, slots=True)
class WriteTask:
    """The work of one task of an engine; it can be pickled.

    `parts`: by stream. `accepts_loss`: archive what is left if entries were trimmed meanwhile.
    `run_ids`: of the servers that must be read, empty if servers do not report them. The limits
    are those of all parts together; of the bytes, as the server sends them. `left_out`: nodes of a
    cluster that are not among these servers, as they do not answer. `today`: the date of entries
    whose IDs are no times.
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
    """What was read of a part: `rows` entries up to `end`, which is `part.last` if it is all.

    `anchors`: those of these entries. `notes`: losses that were accepted, for the user. `layouts`:
    new ones. `is_changed`: nothing was read, as the last archived entry is not there any more.
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
    """The outcome of a task. Parts that the limits have left out are not there.

    `bytes`: of the entries, about as the server has sent them.
    """

    files: list[ArchivedFile]
    parts: list[PartRead]
    bytes: int = 0


class ServerChanged(Exception):
    """Another server answers at the address than before: what was read may be of two histories."""


class PartLost(Exception):
    """Entries of a stream were trimmed while they were read. The arguments: stream and text."""

    @property
    def stream(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return str(self.args[1])


class ArchiveLossPolicy(LossPolicy):
    """Raise for what is lost, or note it and archive what is left; `notes` is for the user."""

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
    """Read parts from the server into files.

    Raises PartLost if entries were trimmed while they were read, ServerChanged if a failover came,
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
        # Again: other connections may have been opened meanwhile.
        _check_servers(connection, task)
        return Written(writer.finish(), parts, work.bytes)


def _check_servers(connection: Connection, task: WriteTask) -> None:
    """Slots may have moved between the servers, as a stream does that with all that it has.

    A server of which another one has taken over may have had entries that are lost. Raises
    ServerChanged.
    """
    if task.run_ids and read_run_ids(connection) != task.run_ids:
        streams = ", ".join(sorted({part.stream for part in task.parts})[:3])
        raise ServerChanged(f"{streams}: another server answers at the address now")


@dataclass(slots=True)
class _Task:
    """One run of a task. `held`: entries that are not decoded yet, with the parts they are of;
    `gaps`: parts whose first entry, or another one between pages, was not found; `layouts`: of all
    rows, for the writer.
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
                self.connection.reopen()  # what was asked for and is left out
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
                # A few large entries: by smaller pages. Or the stream is on another server by now.
                # The parts after it are asked for again.
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
        """Ask for parts, in a pipeline to each server; from which the replies come, in order."""
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
                    self.connection.reopen()  # the next page was asked for
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
        """The new entries of a page, as far as the limits allow; True if that is all of them."""
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
        """How many of these entries may still be taken: at least one in a task."""
        most = min(len(entries), self.task.max_entries - self.entries)
        if self.bytes + size <= self.task.max_bytes:
            self.bytes += size
            return most
        for place, (_, words) in enumerate(entries[:most]):
            next_bytes = self.bytes + entry_bytes(words)
            if next_bytes > self.task.max_bytes and self.entries + place:
                self.bytes = self.task.max_bytes  # it is full
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
        """What was there is not there any more. Raises PartLost."""
        part = read.part
        facts = read_facts(self.connection, part.stream)
        text = f"{part.stream}: some entries after {format_id(part.after)}"
        policy = ArchiveLossPolicy(accepts=self.task.accepts_loss)
        try:
            # Trims take the first entries; XDEL says up to where it has taken some.
            if facts.max_deleted_id >= part.first:
                policy.unclear(f"{text} may have been deleted or trimmed while they were read")
            else:
                now = f"begins at {format_id(facts.first_id)}" if facts.length else "is empty"
                policy.lost(f"{text} were trimmed before they were read; the stream {now} now")
        except DataLost as loss:
            raise PartLost(part.stream, str(loss)) from None
        read.notes += policy.notes


def _pipelines(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Parts that are asked for at once: large ones alone."""
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
    """Return True if the last archived entry is still there. `page`: the first one of a part."""
    return part.anchor is None or is_there(part.anchor, page[:1])


def _request(part: Part) -> bytes:
    bounds = format_id(part.start), format_id(part.last)
    return pack("XRANGE", part.stream, *bounds, "COUNT", MAX_SMALL_REPLY)


def _after(page: list[RawEntry], after: int) -> list[RawEntry]:
    """The entries after an ID: a page may begin with some that are archived."""
    place = 0
    while place < len(page) and parse_id(page[place][0]) <= after:
        place += 1
    return page[place:] if place else page


def decoded(runs: Sequence[tuple[Part, list[RawEntry]]]) -> pa.RecordBatch:
    """Entries of several parts, decoded together, with FILE_SCHEMA."""
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
