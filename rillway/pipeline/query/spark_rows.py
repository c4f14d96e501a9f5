"""A history for Spark, where its own readers cannot read the archive.

They do not know an object store without more packages, fields that are in typed columns, or rows
that another program has written again. So Spark's tasks read a part each, as `rillway query` does,
and nothing is copied.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from rillway.pipeline.archive.files.rows import Segment, StreamRows, overlapping
from rillway.pipeline.query.history import History
from rillway.pipeline.wire.ids import MAX_SEQ, make_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NAME, HISTORY = "rillway-history", "history"
# What a task reads in about two seconds, if entries are small.
TASK_ROWS = 100_000


def task_frame(spark: SparkSession, history: History, schema: StructType) -> DataFrame:
    """Return a history as a DataFrame with `schema`, which tasks read when it is used."""
    spark.dataSource.register(HistorySource)
    if (rows := history.archived) is not None:
        rows = replace(rows, store=rows.store.with_environment())
    text = base64.b64encode(pickle.dumps(replace(history, archived=rows))).decode()
    return spark.read.format(NAME).schema(schema).option(HISTORY, text).load()


@dataclass(slots=True)
class Part(InputPartition):
    """A part of a history, for one task."""

    history: History


class HistorySource(DataSource):
    """A format whose option only `task_frame` makes."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def reader(self, schema: StructType) -> HistoryReader:
        return HistoryReader(pickle.loads(base64.b64decode(self.options[HISTORY])))


class HistoryReader(DataSourceReader):
    """Reads a history in tasks."""

    def __init__(self, history: History) -> None:
        self._history = history

    def partitions(self) -> list[Part]:
        return list(parts(self._history))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        yield from partition.history.batches()


def parts(history: History) -> Iterator[Part]:
    """Divide a history into parts of about TASK_ROWS."""
    if (rows := history.archived) is not None:
        for each in rows.segments:
            for chosen in _divided(rows, each):
                part = replace(rows, segments=[chosen], files=rows.named_files(chosen))
                yield Part(replace(history, archived=part, live=None))
    if history.live is not None:
        for live in _cut(*history.live, -(-history.facts.length // TASK_ROWS)):
            yield Part(replace(history, archived=None, live=live))


def _divided(rows: StreamRows, segment: Segment) -> Iterator[Segment]:
    """Divide the rows of a segment between files that do not overlap, and long ones in between."""
    held: tuple[int, int] | None = None
    number = 0
    for files in overlapping(rows.named_files(segment)):
        # Of files with rows of other streams, this is too many.
        there = sum(file.rows for file in files)
        first = max(segment.first, make_id(min(file.first_ms for file in files)))
        last = min(segment.last, make_id(max(file.last_ms for file in files), MAX_SEQ))
        if held is not None and number + there > TASK_ROWS:
            yield Segment(segment.epoch, *held)
            held, number = None, 0
        *earlier, (begin, last) = _cut(first, last, -(-there // TASK_ROWS))
        yield from (Segment(segment.epoch, *one) for one in earlier)
        held = (held[0] if held is not None else begin), last
        number += there
    if held is not None:
        yield Segment(segment.epoch, *held)


def _cut(first: int, last: int, number: int) -> list[tuple[int, int]]:
    """Cut a range of IDs into equal ones: row groups that a part does not need are not read."""
    count = max(number, 1)
    begins = [first + (last + 1 - first) * n // count for n in range(count + 1)]
    return [(begin, after - 1) for begin, after in pairwise(begins)]
