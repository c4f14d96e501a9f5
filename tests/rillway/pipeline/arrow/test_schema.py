"""The columns are to Arrow what they are to Spark."""

from __future__ import annotations

import pytest

from rillway.pipeline.arrow.schema import arrow_schema, spark_schema, to_arrow


@pytest.mark.parametrize("mode", ["fields", "map"])
def test_spark_takes_the_arrow_schema_as_its_own(mode: str) -> None:
    assert to_arrow(spark_schema(mode)).equals(arrow_schema(mode))


def test_every_column_may_be_null() -> None:
    assert all(field.nullable for field in spark_schema().fields)
    assert all(field.nullable for field in arrow_schema())
