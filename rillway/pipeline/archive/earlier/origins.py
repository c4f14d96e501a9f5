"""Where earlier entries come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from rillway.pipeline.archive.limits import CURRENT
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.ranges.discovery import find_streams
from rillway.pipeline.ranges.reader import read_batches


class Origin(Protocol):
    """Streams with entries in the order of their IDs."""

    def streams(self) -> list[str]: ...

    def batches(self, stream: str, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """The entries with IDs from `first` to `last`, both included, with all their fields."""
        ...


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Another archive: the rows that lead to its present epochs."""

    table: ArchiveTable

    def streams(self) -> list[str]:
        return self.table.streams()

    def batches(self, stream: str, first: int, last: int) -> Iterator[pa.RecordBatch]:
        for _, batch in self.table.rows(stream, CURRENT, first, last).batches():
            yield batch


@dataclass(frozen=True, slots=True)
class ServerOrigin:
    """What a server has in memory."""

    connection: Connection

    def streams(self) -> list[str]:
        return find_streams(self.connection, (), "*")

    def batches(self, stream: str, first: int, last: int) -> Iterator[pa.RecordBatch]:
        return read_batches(self.connection, stream, first, last)
