"""One range of time over archive and stream, with no gap and no duplicate.

What the archive's log says decides: entries up to the archived end come from the archive, later
ones from the stream, whether they are in both or not. A gap could only come from a trim while the
range is read. So the stream is pinned first, at the end that the archive had then, and the archive
is looked at again under the pin: nothing after either end can then be trimmed until the pin goes.

Guarantees: complete, or an error. Leaves out: entries that XDEL removes from the stream stay in the
archive if they were archived before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from rillway.pipeline.archive.parquet_files import COMPRESSION, ArchivedFile, read_file
from rillway.pipeline.archive.periods import day_of
from rillway.pipeline.archive.pins import Pin
from rillway.pipeline.archive.store import Store
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.schema import arrow_schema
from rillway.pipeline.client.connection import DEFAULT_URL, Connection
from rillway.pipeline.client.facts import StreamFacts, read_facts
from rillway.pipeline.client.ids import MAX_ID, MAX_SEQ, MIN_ID, format_id, ms_of
from rillway.pipeline.ranges.discovery import check_there
from rillway.pipeline.ranges.loss import LossPolicy, check_start
from rillway.pipeline.ranges.offsets import BEGINNING, Position
from rillway.pipeline.ranges.reading import read_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(slots=True)
class History:
    """A range of a stream, fixed: files of the archive, and IDs of the stream. Both in order.

    `live`: first and last ID, None if there is nothing. `notes`: what the user should know.
    `staged`: where `stage` has put what `live` names.
    """

    url: str
    stream: str
    first: int
    last: int
    store: Store | None
    files: list[ArchivedFile]
    archived: int
    live: tuple[int, int] | None
    facts: StreamFacts
    notes: list[str] = field(default_factory=list)
    staged: Path | None = None
    staged_archive: bool = False

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The entries in order, without Spark. Raises DataLost."""
        yield from self._archived_batches()
        yield from self._live_batches()

    def _archived_batches(self) -> Iterator[pa.RecordBatch]:
        if self.store is not None:
            last = min(self.last, self.archived)
            for file in self.files:
                yield from read_file(self.store, file, self.first, last)

    def _live_batches(self) -> Iterator[pa.RecordBatch]:
        if self.live is not None:
            with Connection(self.url) as connection:
                yield from read_batches(connection, self.stream, *self.live)

    def stage(self, folder: Path) -> None:
        """Copy what is in memory to a file in `folder`, for a Spark that sees this machine's files.

        Spark reads a file by itself; to read the stream it starts Python several times, which takes
        longer than copying a million entries. What is archived in an object store is copied as
        well: Spark does not come with what it takes to read there. Raises DataLost.
        """
        self.staged = folder / "live.parquet"
        self.staged_archive = self.store is not None and self.store.folder is None
        batches = self.batches() if self.staged_archive else self._live_batches()
        with (
            paused_collector(),
            pq.ParquetWriter(self.staged, arrow_schema(), compression=COMPRESSION) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)

    def data_frame(self, spark: SparkSession) -> DataFrame:
        """The same for Spark, in no order."""
        from rillway.pipeline.arrow.schema import spark_schema

        parts = []
        if self.store is not None and self.files and not self.staged_archive:
            if self.store.folder is None:
                raise ArchiveError(
                    f"{self.store}: Spark's own readers do not know it; stage() copies what is "
                    "read to a folder"
                )
            parts.append(self._archive_frame(spark, self.store.folder))
        if self.staged is not None:
            parts.append(spark.read.schema(spark_schema()).parquet(str(self.staged)))
        elif self.live is not None:
            parts.append(self._live_frame(spark, *self.live))
        if not parts:
            return spark.createDataFrame([], spark_schema())
        return parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])

    def _archive_frame(self, spark: SparkSession, root: Path) -> DataFrame:
        from pyspark.sql import functions
        from pyspark.sql.types import StructType

        from rillway.pipeline.arrow.schema import spark_schema

        columns = [field for field in spark_schema() if field.name != "stream"]
        frame = spark.read.schema(StructType(columns)).parquet(
            *[str(root / file.path) for file in self.files]
        )
        condition = sql_between(self.first, min(self.last, self.archived))
        frame = frame.where(condition).withColumn("stream", functions.lit(self.stream))
        return frame.select("stream", "id", "ms", "seq", "ts", "fields")

    def _live_frame(self, spark: SparkSession, first: int, last: int) -> DataFrame:
        # The number of removed entries: those after the archived end have been checked already.
        start = Position(first - 1, self.facts.trimmed)
        return (
            spark.read.format("redis-streams")
            .option("url", self.url)
            .option("stream", self.stream)
            .option("schemaMode", "fields")
            .option("startingOffsets", json.dumps({self.stream: start.as_json()}))
            .option("endingOffsets", json.dumps({self.stream: format_id(last)}))
            .load()
        )


def sql_between(first: int, last: int) -> str:
    """The condition of an ID to be within two others, both included, in SQL.

    The bounds of `ms` stand by themselves: those are what Parquet can skip row groups by.
    """
    low, high = ms_of(first), min(ms_of(last), (1 << 63) - 1)
    least, most = first & MAX_SEQ, last & MAX_SEQ if ms_of(last) == high else MAX_SEQ
    return (
        f"ms >= {low} AND ms <= {high}"
        f" AND (ms > {low} OR seq >= {least}BD) AND (ms < {high} OR seq <= {most}BD)"
    )


@contextmanager
def open_history(
    url: str,
    stream: str,
    archive: str | Path | None,
    first: int = MIN_ID,
    last: int = MAX_ID,
    *,
    fails_if_missing: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> Iterator[History]:
    """Fix and hold a range; `archive` None reads the stream alone.

    Raises ArchiveError, ServerError, ConnectionLost; StreamMissing, if that is wanted, for a stream
    that is neither in memory nor in the archive; DataLost if entries are in neither; on leaving,
    PinLost if the range was not held all the time.
    """
    table = ArchiveTable.open(archive, storage_options) if archive is not None else None
    end = _end(table, stream)
    with Connection(url) as connection:
        if fails_if_missing and end == BEGINNING:
            check_there(connection, stream)
        pin = Pin(url, stream, end.id)
        try:
            if table is not None:
                table.refresh()
                end = _end(table, stream)
            facts = read_facts(connection, stream)
            _check(stream, end, facts)
            yield _fix(url, stream, table, end, facts, first, last)
            # What others have trimmed meanwhile.
            _check(stream, end, read_facts(connection, stream))
        except BaseException:
            pin.drop()
            raise
        pin.release()


def _end(table: ArchiveTable | None, stream: str) -> Position:
    return (table.end(stream) if table is not None else None) or BEGINNING


def _check(stream: str, end: Position, facts: StreamFacts) -> None:
    if end.n is not None:
        check_start(LossPolicy(fails=True), stream, end, facts)


def _fix(
    url: str,
    stream: str,
    table: ArchiveTable | None,
    end: Position,
    facts: StreamFacts,
    first: int,
    last: int,
) -> History:
    live = max(first, end.id + 1), min(last, facts.last_id)
    history = History(
        url=url,
        stream=stream,
        first=first,
        last=last,
        store=table.store if table is not None else None,
        files=table.files(stream, first, min(last, end.id)) if table is not None else [],
        archived=end.id,
        live=live if live[0] <= live[1] else None,
        facts=facts,
    )
    expired_ms = table.expired_before_ms(stream) if table is not None else None
    if expired_ms is not None and ms_of(first) < expired_ms:
        history.notes.append(f"entries from before {day_of(expired_ms)} have expired")
    return history


@contextmanager
def read_history(
    spark: SparkSession,
    *,
    stream: str,
    archive: str | Path | None,
    url: str = DEFAULT_URL,
    first: int = MIN_ID,
    last: int = MAX_ID,
    fail_if_missing: bool = True,
    storage_options: Mapping[str, str] | None = None,
) -> Iterator[DataFrame]:
    """A DataFrame over archive and stream, for use within the `with` block, which holds it.

    `first` and `last` are IDs, both included: `make_id(ms)` of rillway.pipeline.client.ids makes
    one of a time. Columns: stream, id, ms, seq, ts, fields. Raises as open_history does; Spark's
    own errors carry what went wrong in a task.
    """
    with ExitStack() as stack:
        history = stack.enter_context(
            open_history(
                url,
                stream,
                archive,
                first,
                last,
                fails_if_missing=fail_if_missing,
                storage_options=storage_options,
            )
        )
        if history.store is not None and history.store.folder is None:
            history.stage(Path(stack.enter_context(TemporaryDirectory(prefix="rillway-history-"))))
        yield history.data_frame(spark)
