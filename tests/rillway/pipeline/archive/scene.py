"""What the archive's tests do to streams, and what they find in an archive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.files.parquet_files import (
    ArchivedFile,
    file_batch,
    write_files,
)
from rillway.pipeline.archive.identity.epochs import Epoch, StreamRecord, StreamState
from rillway.pipeline.archive.report.rounds import StreamReport
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection

STREAM = "orders"
DAY_MS = 86_400_000
STATE = StreamState((Epoch(1, "token"),))
STEPS = [
    "recognised",
    "marked",
    "planned",
    "written",
    "stated",
    "committed",
    "placed",
    "trimmed",
]


def add(connection: Connection, *ids: str, stream: str = STREAM) -> None:
    for entry_id in ids:
        connection.call("XADD", stream, entry_id, "n", entry_id)


def add_many(
    connection: Connection, number: int, first_ms: int = 1, step_ms: int = 1, stream: str = STREAM
) -> None:
    connection.call_all(
        [("XADD", stream, f"{first_ms + n * step_ms}-0", "n", n) for n in range(number)]
    )


def archive(
    connection: Connection,
    table: ArchiveTable,
    rules: TrimRules | None = None,
    hooks: Hooks | None = None,
    **settings: object,
) -> StreamReport:
    settings.setdefault("id_unit", "ms")  # of made-up IDs as well
    chosen = ArchiverSettings(connection.url, rules=rules or TrimRules(), **settings)  # type: ignore[arg-type]
    return Archiver(table, LocalEngine(), chosen, hooks).archive(STREAM)


def archived_ids(table: ArchiveTable, stream: str = STREAM) -> list[str]:
    """Epoch by epoch, in order."""
    return [
        entry_id
        for _, batch in table.rows(stream).batches()
        for entry_id in batch.column("id").to_pylist()
    ]


def written(
    table: ArchiveTable, entries: list[list[Any]], stream: str = STREAM, epoch: int = 1
) -> list[ArchivedFile]:
    """New files of entries, as a server sends them; nothing names them yet."""
    batch = file_batch(fields_decoder(stream)(entries), epoch)
    return write_files(table.store, [batch], table.period)


def commit(
    table: ArchiveTable,
    end: Position,
    files: Sequence[ArchivedFile] = (),
    state: StreamState = STATE,
    stream: str = STREAM,
) -> None:
    """A commit as an archiver makes it."""
    record = StreamRecord(state, end)
    if (before := table.record(stream)) is not None:
        record = replace(before, state=state, end=end)
    table.append(table.write_state({stream: record}, files), files, {})


def live_ids(connection: Connection, stream: str = STREAM) -> list[str]:
    return texts(entry[0] for entry in connection.call("XRANGE", stream, "-", "+"))


def texts(ids: Iterable[bytes]) -> list[str]:
    return [entry_id.decode() for entry_id in ids]
