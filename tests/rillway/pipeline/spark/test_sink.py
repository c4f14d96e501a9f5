"""The sink as Spark calls it, without Spark."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.types import LongType, StringType, StructType

from rillway.pipeline.arrow.encoder import UnwritableRow
from rillway.pipeline.spark.sink import WrittenEntries
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import datasource

pytestmark = pytest.mark.integration

SCHEMA = StructType().add("n", StringType())
ROWS = pa.record_batch({"n": ["1", "2", "3"]})


class Task:
    """What a task of Spark knows of itself."""

    def __init__(self, **properties: str) -> None:
        self.properties = properties

    def partitionId(self) -> int:  # noqa: N802
        return 4

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        return self.properties.get(name)


@pytest.fixture
def in_batch(monkeypatch: pytest.MonkeyPatch) -> Any:
    def enter(number: int, query: str = "query") -> None:
        task = Task(**{"sql.streaming.queryId": query, "streaming.sql.batchId": str(number)})
        monkeypatch.setattr(TaskContext, "get", lambda: task)

    return enter


def test_a_batch_is_written_by_a_pickled_writer(link: Connection) -> None:
    writer = datasource(link, stream="s").writer(SCHEMA, overwrite=False)
    message = pickle.loads(pickle.dumps(writer)).write(iter([ROWS, ROWS]))
    assert message == WrittenEntries(6, 0)
    assert link.call("XLEN", "s") == 6


def test_a_dataframe_that_cannot_be_written_is_refused_before_it_is_computed(
    link: Connection,
) -> None:
    for source in (datasource(link), datasource(link, stream="s", ids="keep")):
        with pytest.raises(UnwritableRow):
            source.writer(SCHEMA, overwrite=False)
        with pytest.raises(UnwritableRow):
            source.streamWriter(SCHEMA, overwrite=False)
    numbers = StructType().add("fields", LongType())
    with pytest.raises(UnwritableRow, match="must be a map"):
        datasource(link, stream="s").writer(numbers, overwrite=False)


def test_a_micro_batch_that_is_run_again_is_written_once(link: Connection, in_batch: Any) -> None:
    writer = datasource(link, stream="s", delivery="exactly-once").streamWriter(SCHEMA, False)
    in_batch(0)
    assert writer.write(iter([ROWS])) == WrittenEntries(3, 0)
    assert writer.write(iter([ROWS])) == WrittenEntries(0, 3)
    in_batch(1)
    assert writer.write(iter([ROWS])) == WrittenEntries(3, 0)
    in_batch(0, query="another")
    assert writer.write(iter([ROWS])) == WrittenEntries(3, 0)
    assert link.call("GET", "__spark:ledger:query:4").startswith(b"1 3 ")


def test_a_job_with_a_write_id_is_written_once(link: Connection, in_batch: Any) -> None:
    in_batch(0)
    options = {"stream": "s", "delivery": "exactly-once", "writeId": "monday"}
    for _ in range(2):
        datasource(link, **options).writer(SCHEMA, overwrite=False).write(iter([ROWS]))
    assert link.call("XLEN", "s") == 3


def test_at_least_once_writes_again(link: Connection) -> None:
    writer = datasource(link, stream="s").streamWriter(SCHEMA, False)
    for _ in range(2):
        writer.write(iter([ROWS]))
    assert link.call("XLEN", "s") == 6


def test_exactly_once_needs_a_task(link: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = datasource(link, stream="s", delivery="exactly-once").streamWriter(SCHEMA, False)
    monkeypatch.setattr(TaskContext, "get", lambda: None)
    with pytest.raises(RuntimeError, match="there is none here"):
        writer.write(iter([ROWS]))
    monkeypatch.setattr(TaskContext, "get", lambda: Task())
    with pytest.raises(RuntimeError, match="which query and batch"):
        writer.write(iter([ROWS]))
