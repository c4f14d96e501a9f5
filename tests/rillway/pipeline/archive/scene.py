"""What the archive's tests do to streams, and what they find in an archive."""

from __future__ import annotations

from collections.abc import Iterable

from rillway.pipeline.archive.archiver import Archiver, Hooks, Report, Settings
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.identity.epochs import Epoch, StreamState
from rillway.pipeline.archive.parquet_files import read_file
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import MAX_ID, MIN_ID

STREAM = "orders"
DAY_MS = 86_400_000
STATE = StreamState((Epoch(1, "token"),))
STEPS = ["recognised", "marked", "planned", "written", "committed", "placed", "trimmed"]


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
) -> Report:
    chosen = Settings(connection.url, rules=rules or TrimRules(), **settings)  # type: ignore[arg-type]
    return Archiver(table, LocalEngine(), chosen, hooks).archive(STREAM)


def archived_ids(table: ArchiveTable, stream: str = STREAM) -> list[str]:
    """In the order of the table."""
    return [
        entry_id
        for file in table.files(stream)
        for batch in read_file(table.root, file, MIN_ID, MAX_ID)
        for entry_id in batch.column("id").to_pylist()
    ]


def live_ids(connection: Connection, stream: str = STREAM) -> list[str]:
    return texts(entry[0] for entry in connection.call("XRANGE", stream, "-", "+"))


def texts(ids: Iterable[bytes]) -> list[str]:
    return [entry_id.decode() for entry_id in ids]
