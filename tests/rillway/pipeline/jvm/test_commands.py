"""The archive, a query and the jobs as Spark runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rillway.pipeline.archive.archiver import Archiver, Settings
from rillway.pipeline.archive.engine import EngineFailed, SparkEngine
from rillway.pipeline.archive.parquet_files import WriteTask
from rillway.pipeline.archive.store import store_of
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import parse_id
from rillway.pipeline.query.command import QueryFailed, select
from rillway.pipeline.query.history import open_history, read_history
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.ranges.planning import Slice
from tests.rillway.pipeline.scene import add_many, ids_of, stream_ids
from tests.support.servers import ROOT, RunningServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.pipeline

STREAM = "orders"
CLUSTER_SECONDS = 120


@pytest.fixture
def table(link: Connection, spark: SparkSession, tmp_path: Path) -> ArchiveTable:
    """30,000 entries, archived by two tasks and trimmed, and 5,000 more in the stream."""
    add_many(link, STREAM, 30_000)
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    report = Archiver(table, SparkEngine(spark), Settings(link.url)).archive(STREAM)
    assert (report.archived, report.trimmed) == (30_000, 30_000)
    assert len(table.files(STREAM)) == 2
    add_many(link, STREAM, 5_000, 30_001)
    return table


def test_a_data_frame_spans_archive_and_stream(
    link: Connection, spark: SparkSession, table: ArchiveTable, tmp_path: Path
) -> None:
    with read_history(spark, stream=STREAM, archive=table.root, url=link.url) as frame:
        assert frame.count() == 35_000
        assert frame.select("id").distinct().count() == 35_000
    bounds: dict[str, Any] = {"first": parse_id("29999-0"), "last": parse_id("30002-0")}
    with read_history(spark, stream=STREAM, archive=table.root, url=link.url, **bounds) as frame:
        found = {row.id: bytes(row.fields[0].value).decode() for row in frame.collect()}
    assert found == {f"{n}-0": f"{n}-0" for n in range(29_999, 30_003)}

    where = "fields['n'] LIKE '%999-0' AND ms > 28000"
    with open_history(link.url, STREAM, table.root) as history:
        batches = list(select(history.data_frame(spark), where, None))
        in_python = [
            entry_id
            for entry_id in ids_of(history.batches())
            if entry_id.endswith("999-0") and int(entry_id.split("-")[0]) > 28_000
        ]
        assert ids_of(batches) == in_python
        assert ids_of(select(history.data_frame(spark), where, 2)) == in_python[:2]
        # A copy of what is in memory gives the same.
        history.stage(tmp_path)
        assert list(select(history.data_frame(spark), where, None)) == batches
        with pytest.raises(QueryFailed, match="nonsense"):
            list(select(history.data_frame(spark), "nonsense = 1", None))


def test_errors_of_tasks_are_one_line(
    link: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    add_many(link, STREAM, 10)
    engine = SparkEngine(spark)
    part = Slice(STREAM, parse_id("1-0"), parse_id("10-0"), 10)
    link.call("XTRIM", STREAM, "MAXLEN", 4)
    with pytest.raises(DataLost, match="were trimmed before they were read"):
        engine.write([WriteTask(link.url, store_of(tmp_path), part)])
    with pytest.raises(EngineFailed) as failed:
        engine.write([WriteTask("redis://127.0.0.1:1", store_of(tmp_path), part)])
    assert "\n" not in str(failed.value)


CLUSTER_PROGRAM = """
import sys
from rillway.pipeline.jobs import archive_streams, parquet_to_stream, streams_to_parquet

url, out, archive = sys.argv[1:]
options = ["--option", f"url={url}", "--option"]
statuses = [
    streams_to_parquet.main(["--out", out, *options, "stream=orders"]),
    parquet_to_stream.main(["--from", out, "--option", "ids=keep", *options, "stream=copy"]),
    # Last: it ends the session.
    archive_streams.main(["--stream", "orders", "--to", archive, "--url", url, "--keep", "0"]),
]
sys.exit(max(statuses))
"""


@pytest.mark.cluster
def test_the_jobs_run_on_a_cluster_of_two_workers(
    redis_server: RunningServer, tmp_path: Path
) -> None:
    url = f"redis://127.0.0.1:{redis_server.port}"
    out, archive = tmp_path / "out", tmp_path / "archive"
    with Connection(url) as link:
        link.call("FLUSHALL")
        add_many(link, STREAM, 30_000)
        printed = submit(tmp_path, CLUSTER_PROGRAM, url, str(out), str(archive))
        assert f"30,000 entries in {out}" in printed
        assert "30,000 rows" in printed
        assert "orders: 30,000 archived" in printed
        assert len(stream_ids(link, "copy")) == 30_000
        assert stream_ids(link, STREAM) == []
    files = ArchiveTable.open(archive).files(STREAM)
    # Two tasks, one for each worker: they have one core each.
    assert [file.rows for file in files] == [15_000, 15_000]


def submit(folder: Path, program: str, *words: str) -> str:
    """spark-submit to two worker processes of one core each; what the program printed."""
    script = folder / "program.py"
    script.write_text(program)
    path = os.pathsep.join([str(ROOT), str(ROOT / "rillway/pipeline/spark/formats")])
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.executorEnv.PYTHONPATH": path,
    }
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    spark_submit = str(Path(sys.executable).parent / "spark-submit")
    finished = subprocess.run(
        [spark_submit, "--master", "local-cluster[2,1,512]", *confs, str(script), *words],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=CLUSTER_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, (finished.stdout + finished.stderr)[-3000:]
    return finished.stdout
