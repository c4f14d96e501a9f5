"""Spark as a reader of an archive: its Parquet files, and with jars Delta and Iceberg.

The jars are in no package that the tests can install, so what needs them runs where
RILLWAY_SPARK_JARS names them, separated by commas: delta-spark and delta-storage, and
iceberg-spark-runtime, of this Spark's version.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from rillway.pipeline.archive.command import main
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import add_many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.pipeline

JARS = os.environ.get("RILLWAY_SPARK_JARS", "")
# Of another process: a session takes jars when its JVM starts.
WITH_JARS = """
import sys
from pyspark.sql import SparkSession

jars, archive, metadata = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars", jars)
    .config(
        "spark.sql.extensions",
        "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    )
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.catalog.mirror", "org.apache.iceberg.spark.SparkCatalog")
    .config(
        "spark.sql.catalog.mirror.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog"
    )
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sql("CREATE NAMESPACE mirror.rillway")
spark.sql(f"CALL mirror.system.register_table('rillway.archive', '{metadata}')")
for table in (f"delta.`{archive}`", "mirror.rillway.archive"):
    [row] = spark.sql(f"SELECT count(*), sum(ms) FROM {table} WHERE stream = 'a'").collect()
    print("found", *row)
spark.sql(f"DELETE FROM delta.`{archive}` WHERE stream = 'a' AND id = '3-0'")
spark.sql(f"OPTIMIZE delta.`{archive}`")
"""


@pytest.fixture
def archive(rillway_link: Connection, tmp_path: Path) -> str:
    """Two streams, in an archive that is mirrored."""
    path = str(tmp_path / "archive")
    streams = ["--stream", "a", "--stream", "b"]
    for number, stream in enumerate("ab"):
        add_many(rillway_link, stream, 50, 1 + number)
    catalogue = f"sqlite:///{tmp_path}/catalogue.db"
    place = ["--to", path, "--iceberg", catalogue, "--url", rillway_link.url, "--keep", "0"]
    place += ["--id-unit", "ms"]
    assert main([*streams, *place]) == 0
    return path


def test_spark_reads_the_files_that_the_log_names(spark: SparkSession, archive: str) -> None:
    files = DeltaTable(archive).file_uris()
    frame = spark.read.option("basePath", archive).parquet(*files)
    rows = frame.where("stream = 'b' AND ms > 40").select("id", "ms", "date").collect()
    assert [row.id for row in rows] == [f"{n}-0" for n in range(41, 52)]
    assert {str(row.date) for row in rows} == {"1970-01-01"}


@pytest.mark.skipif(not JARS, reason="RILLWAY_SPARK_JARS names no jars")
def test_spark_reads_the_log_and_the_mirror(archive: str, tmp_path: Path) -> None:
    from rillway.pipeline.archive.iceberg.catalogue import open_catalogue
    from rillway.pipeline.archive.table import ArchiveTable

    catalogue = open_catalogue(
        f"sqlite:///{tmp_path}/catalogue.db", ArchiveTable.open(archive).store
    )
    metadata = catalogue.load_table("rillway.archive").metadata_location
    done = subprocess.run(
        [sys.executable, "-c", WITH_JARS, JARS, archive, metadata],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    found = [line for line in done.stdout.splitlines() if line.startswith("found")]
    assert found == ["found 50 1275"] * 2
    rows = ArchiveTable.open(archive).rows("a").batches()
    ids = [entry_id for _, batch in rows for entry_id in batch.column("id").to_pylist()]
    assert ids == [f"{n}-0" for n in range(1, 51) if n != 3]
