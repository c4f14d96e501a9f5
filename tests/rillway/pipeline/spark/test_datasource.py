"""What the format refuses before anything is read; it is used by name in spark/test_formats.py."""

from __future__ import annotations

import pytest

from rillway.pipeline.spark.options import OptionError
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import datasource

pytestmark = pytest.mark.integration


def test_columns_mode_needs_a_schema(link: Connection) -> None:
    with pytest.raises(OptionError, match="schemaMode=columns needs a schema"):
        datasource(link, stream="s", schemaMode="columns").schema()


def test_a_schema_of_ones_own_needs_columns_mode(link: Connection) -> None:
    from pyspark.sql.types import StringType, StructType

    schema = StructType().add("item", StringType())
    with pytest.raises(OptionError, match="needs schemaMode=columns"):
        datasource(link, stream="s").reader(schema)
    with pytest.raises(OptionError, match="needs schemaMode=columns"):
        datasource(link, stream="s").streamReader(schema)


def test_an_overwrite_is_refused(link: Connection) -> None:
    from pyspark.sql.types import StringType, StructType

    schema = StructType().add("item", StringType())
    with pytest.raises(OptionError, match=r"use mode\('append'\)"):
        datasource(link, stream="s").writer(schema, overwrite=True)
