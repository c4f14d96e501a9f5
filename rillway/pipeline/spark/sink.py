"""Writing streams with Spark: `df.write` and `df.writeStream` of the format `redis-streams`.

Each task writes its own rows (writer.py). Spark may run a task again, so delivery is at least once.
It is exactly once with `delivery=exactly-once`, and when IDs are kept.

Nothing is undone when a job fails: consumers may have seen the entries that were added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from rillway.pipeline.arrow.schema import to_arrow
from rillway.pipeline.spark.options import SinkOptions
from rillway.pipeline.spark.versions import HAS_ADMISSION_CONTROL, DataSourceStreamArrowWriter
from rillway.pipeline.spark.writer import EntryWriter, encoder_of

# The local properties by which tasks learn their micro-batch.
QUERY_ID, BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"
ONLY_BATCH = 0


@dataclass
class WrittenEntries(WriterCommitMessage):
    """The numbers of rows that a task wrote and skipped."""

    entries: int
    skipped: int


def check_schema(options: SinkOptions, schema: StructType) -> None:
    """Check a DataFrame before it is computed. Raises UnwritableRow if it cannot be written."""
    encoder_of(options, to_arrow(schema))


class _Writer:
    """The base of both writers, which differ in the key of a task's ledger.

    `has_fixed_tasks`: a micro-batch that is planned again has the same tasks. A job that is run
    again does not: its rows must be the same, too.
    """

    has_fixed_tasks = False

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_schema(options, schema)
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenEntries:
        ledger = self._ledger() if self.options.exactly_once else None
        writer = EntryWriter(self.options, ledger, has_fixed_tasks=self.has_fixed_tasks)
        written = writer.write(iterator)
        return WrittenEntries(written.entries, written.skipped)

    def _ledger(self) -> tuple[str, int, int]:
        """Name the ledger by writer, partition and batch."""
        raise NotImplementedError


class BatchWriter(_Writer, DataSourceArrowWriter):
    """The writer of one job."""

    def _ledger(self) -> tuple[str, int, int]:
        assert self.options.write_id is not None
        return self.options.write_id, _task().partitionId(), ONLY_BATCH


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """The writer of a query's micro-batches. Its checkpoint names it, unless `writeId` does."""

    # Before Spark 4.2 the tasks of a batch are not in the checkpoint (UnlimitedStreamReader).
    has_fixed_tasks = HAS_ADMISSION_CONTROL

    def _ledger(self) -> tuple[str, int, int]:
        task = _task()
        writer = self.options.write_id or task.getLocalProperty(QUERY_ID)
        batch = task.getLocalProperty(BATCH_ID)
        if writer is None or batch is None:
            raise RuntimeError("Spark does not say which query and batch this task belongs to")
        return writer, task.partitionId(), int(batch)


def _task() -> TaskContext:
    task = TaskContext.get()
    if task is None:
        raise RuntimeError("exactly-once is for Spark's tasks: there is none here")
    return task
