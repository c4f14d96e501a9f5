"""Typed columns as Spark's tasks write them, and as Spark reads them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.engine import SparkEngine
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query.command import select
from rillway.pipeline.query.frames import data_frame, read_history
from rillway.pipeline.query.history import open_history
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.ranges.test_filters import TYPED, TYPED_CONDITIONS, typed_batch
from tests.rillway.pipeline.scene import ids_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.pipeline

SCHEMA = "o=customer STRING, amount DECIMAL(10,2), at TIMESTAMP, tags MAP<STRING, ARRAY<DATE>>"


@pytest.fixture
def table(link: Connection, spark: SparkSession, tmp_path: Path) -> ArchiveTable:
    """Entries 1 to 3, archived by Spark's tasks, and 4 and 5 in memory."""
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    set_columns(table, from_options([SCHEMA]))
    for number, amount in enumerate(["9.00", "12.50", "007", "13.00", "x"], start=1):
        if number == 4:
            settings = ArchiverSettings(link.url, trims=False)
            Archiver(table, SparkEngine(spark), settings).archive("o")
        link.call("XADD", "o", f"{number}-0", "customer", "ann", "amount", amount,
                  "at", "2026-01-31 12:00:00.5", "tags", '{"a": ["2026-01-31"]}')  # fmt: skip
    return table


def test_a_condition_on_typed_columns(
    link: Connection, spark: SparkSession, table: ArchiveTable, tmp_path: Path
) -> None:
    with open_history(link.url, "o", table.root) as history:
        history.stage(tmp_path)
        where = "amount > 10 AND fields['customer'] = 'ann' AND hour(at) >= 0"
        frame = data_frame(history, spark)
        batches = list(select(frame, where, None, history.schema, history.unit))
        assert ids_of(batches) == ["2-0", "4-0"]
        in_python = [row for batch in history.batches() for row in batch.to_pylist()]
        assert [row for batch in batches for row in batch.to_pylist()] == in_python[1:4:2]
        assert [words for batch in batches for _, words in raw_entries(batch)] == [
            words for _, words in link.call("XRANGE", "o", "-", "+")[1:4:2]
        ]
    with read_history(spark, stream="o", archive=table.root, url=link.url) as frame:
        assert sorted(row.id for row in frame.select("id").collect()) == [
            f"{n}-0" for n in range(1, 6)
        ]
        words = {row.id: [bytes(pair.value) for pair in row.fields] for row in frame.collect()}
        assert (words["3-0"][1], words["5-0"][1]) == (b"007", b"x")
        [row] = frame.selectExpr("sum(amount)", "max(tags['a'][0])", "count(_rescued)").collect()
        assert [str(value) for value in row] == ["41.50", "2026-01-31", "1"]


@pytest.mark.thorough
def test_conditions_mean_without_spark_what_they_mean_with_it(spark: SparkSession) -> None:
    rows = [
        (row["id"], *(row[column.name] for column in TYPED), row["ms"], row["ts"])
        for row in typed_batch().to_pylist()
    ]
    frame = spark.createDataFrame(
        rows,
        "id STRING, customer STRING, amount DECIMAL(38,19), Count SHORT, at TIMESTAMP, day DATE, "
        "ms LONG, ts TIMESTAMP",
    )
    for condition, ids in TYPED_CONDITIONS.items():
        assert [row.id for row in frame.where(condition).collect()] == ids.split(), condition


@pytest.mark.thorough
def test_spark_reads_the_columns_in_the_files(spark: SparkSession, table: ArchiveTable) -> None:
    files = DeltaTable(str(table.root)).file_uris()
    spark.read.parquet(*files).createOrReplaceTempView("archived")
    rows = spark.sql("SELECT amount FROM archived WHERE customer = 'ann' ORDER BY ms").collect()
    assert [row.amount for row in rows] == [Decimal("9.00"), Decimal("12.50"), Decimal("7.00")]
