"""Spark counts what is counted without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rillway.pipeline.latency.journal import count
from rillway.pipeline.latency.spark_journal import count_with_spark
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.latency.journals import UNREADABLE_OF_MIXED, as_batch, mixed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.pipeline]


@pytest.mark.thorough
def test_the_numbers_are_the_same(spark: SparkSession, rillway_link: Connection) -> None:
    entries = mixed()
    for fields in entries:
        rillway_link.call("XADD", "j", "*", *fields)
    options = {"url": rillway_link.url, "stream": "j", "entriesPerPartition": "40"}
    options["schemaMode"] = "fields"
    frame = spark.read.format("redis-streams").options(**options).load()
    for groups in ([], ["h", "grüppe"]):
        counted = count_with_spark(frame, "s", groups)
        assert counted == count(as_batch(entries), "s", groups)
        assert counted.unreadable == UNREADABLE_OF_MIXED
