"""The jobs on a standalone cluster, whose tasks write into an object store; the archive on another
one, whose executors are killed; and the formats through Spark Connect: `make cluster-test`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.pipeline_crash.spark_rounds import play
from tests.rillway.pipeline.scene import add_many, stream_ids
from tests.support.programs.servers import ROOT, RunningServer
from tests.support.stores.object_store import BUCKET, s3_server

pytestmark = pytest.mark.cluster

BIN = Path(sys.executable).parent
FORMATS = ROOT / "rillway/pipeline/spark/formats"
# What a machine of a cluster has: this package, and a Python with what it needs.
MACHINE = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(FORMATS)]),
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
}
START_SECONDS = 240
JOB_SECONDS = 500
STREAM = "orders"
ENTRIES = 30_000


@contextlib.contextmanager
def running(folder: Path, *command: str, port: int | None = None) -> Iterator[None]:
    """A process of Spark; with `port`, it is waited for until that is open."""
    log = folder / f"{command[-1].rpartition('.')[2].rpartition('/')[2]}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=folder, env=os.environ | MACHINE, stdout=output, stderr=output,
        )  # fmt: skip
        try:
            if port is not None:
                wait_for(port, process, log)
            yield
        finally:
            process.terminate()
            process.wait(30)


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster of two workers with one core each; its URL."""
    port = free_port()
    classes = "org.apache.spark.deploy"
    with contextlib.ExitStack() as stack:
        words = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        stack.enter_context(
            running(tmp_path, "spark-class", f"{classes}.master.Master", *words, port=port)
        )
        url = f"spark://127.0.0.1:{port}"
        for name in ("one", "two"):
            words = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            words += ["--work-dir", str(tmp_path / name)]
            stack.enter_context(
                running(tmp_path, "spark-class", f"{classes}.worker.Worker", *words, url)
            )
        yield url


@pytest.fixture
def link(redis_server: RunningServer) -> Iterator[Connection]:
    with Connection(f"redis://127.0.0.1:{redis_server.port}") as connection:
        connection.call("FLUSHALL")
        add_many(connection, STREAM, ENTRIES)
        yield connection


def run(folder: Path, *command: str, **environment: str) -> str:
    """What a program printed."""
    finished = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True,
        timeout=JOB_SECONDS, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, (finished.stdout + finished.stderr)[-3000:]
    return finished.stdout


JOBS = """
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


def test_the_jobs_run_on_a_standalone_cluster(
    master: str, link: Connection, tmp_path: Path
) -> None:
    """Only the driver's environment says how the object store is reached."""
    out, archive = tmp_path / "out", f"s3://{BUCKET}/archive"
    script = tmp_path / "jobs.py"
    script.write_text(JOBS)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        # Both workers, before the first task is given to one.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = [str(BIN / "spark-submit"), "--master", master, *confs, str(script)]
    with s3_server() as options:
        variables = {name.upper(): value for name, value in options.items()}
        words = [link.url, str(out), archive]
        printed = run(tmp_path, *submit, *words, **MACHINE, **variables)
        files = ArchiveTable.open(archive, options).files(STREAM)
    assert f"30,000 entries in {out}" in printed
    assert "30,000 rows" in printed
    assert "orders: 30,000 archived" in printed
    assert len(stream_ids(link, "copy")) == ENTRIES
    assert stream_ids(link, STREAM) == ["30000-0"]  # the anchor, which proves the history
    # Two tasks, one for each worker: they have one core each.
    assert [file.rows for file in files] == [15_000, 15_000]


@pytest.mark.thorough
def test_an_archive_outlives_executors_and_a_primary(tmp_path: Path) -> None:
    """A small run of `make archive-spark`."""
    verdict = play("redis", tmp_path, streams=60, each=20, passes=1, seed=1)
    assert verdict.problems == []
    assert verdict.held >= 60 * 20 * 5


CONNECTED = """
import sys
from pyspark.sql import SparkSession

remote, url, checkpoint = sys.argv[1:]
spark = SparkSession.builder.remote(remote).getOrCreate()
entries = spark.read.format("redis-streams").option("url", url).load("orders")
print(entries.where("ms <= 10").count(), entries.count())
stream = spark.readStream.format("redis-streams").option("url", url)
stream = stream.option("startingOffsets", "earliest").option("maxEntriesPerTrigger", 20_000)
writer = stream.load("orders").writeStream.format("redis-streams")
writer = writer.options(url=url, stream="copy", delivery="exactly-once")
writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
assert writer.start().awaitTermination(600)
"""


@pytest.mark.thorough
def test_the_formats_work_through_spark_connect(link: Connection, tmp_path: Path) -> None:
    port = free_port()
    service = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    confs = [
        "--conf",
        f"spark.connect.grpc.binding.port={port}",
        "--conf",
        "spark.ui.enabled=false",
    ]
    server = ["spark-submit", *service, "--master", "local[2]", *confs]
    with running(tmp_path, *server, port=port):
        words = [f"sc://127.0.0.1:{port}", link.url, str(tmp_path / "checkpoint")]
        printed = run(tmp_path, sys.executable, "-c", CONNECTED, *words)
    assert printed.split() == ["10", "30000"]
    assert len(stream_ids(link, "copy")) == ENTRIES
