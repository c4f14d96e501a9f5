"""The pipeline with large entries, and with many streams: time and memory.

    PYTHONPATH=. python benchmarks/pipeline_sizes.py [--entries 10000] [--bytes 1000000]
                                                     [--streams 2000] [--redis]

Prints for each job how long it took, and the largest resident memory of the JVM and of a Python
process meanwhile. Large entries are text that compresses, for Rillway keeps them compressed: with
`--redis`, a real redis-server needs all their bytes.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.pipeline import own_tree, running
from rillway.pipeline.archive.archiver import Archiver, Settings
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.client.connection import Connection, pack
from rillway.pipeline.client.facts import read_facts
from rillway.pipeline.spark.spark_session import spark_session
from tests.support.programs.servers import RunningServer, start_redis, start_rillway

LARGE = "large"
MIB = 1 << 20


class MemoryWatch:
    """The largest resident memory, in bytes, of JVM and Python processes."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server.process.pid
        self._over = threading.Event()
        self.java = self.python = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            for pid in own_tree():
                if pid == self._server:
                    continue
                try:
                    name = Path(f"/proc/{pid}/comm").read_text()
                    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
                except (OSError, IndexError):
                    continue
                if "java" in name:
                    self.java = max(self.java, resident)
                elif "python" in name:
                    self.python = max(self.python, resident)


def measure(server: RunningServer, what: str, action: Callable[[], object]) -> None:
    watch = MemoryWatch(server)
    begin = time.perf_counter()
    with watch.watching():
        result = action()
    print(
        f"{server.name:<20} {what:<42} {time.perf_counter() - begin:7.1f} s; "
        f"JVM {watch.java / MIB:6,.0f} MiB, largest Python {watch.python / MIB:6,.0f} MiB"
        f"; {result}",
        flush=True,
    )


def add_large(url: str, entries: int, size_bytes: int) -> None:
    with Connection(url) as connection:
        for number in range(entries):
            text = b"%08d " % number * (size_bytes // 9)
            connection.send(pack("XADD", LARGE, f"{1_700_000_000_000 + number}-0", "value", text))
            connection.receive()


def add_streams(url: str, streams: int) -> None:
    with Connection(url) as connection:
        connection.call_all(
            [("XADD", f"many:{number}", "1-0", "n", 1) for number in range(streams)]
        )


def measure_large(spark: SparkSession, server: RunningServer, url: str, entries: int) -> None:
    def source() -> int:
        with tempfile.TemporaryDirectory() as folder:
            rows = spark.read.format("redis-streams").option("url", url).load(LARGE)
            rows.write.parquet(f"{folder}/parquet")
            return spark.read.parquet(f"{folder}/parquet").count()

    def copy() -> int:
        rows = spark.read.format("redis-streams").option("url", url).load(LARGE)
        options = {"url": url, "delivery": "exactly-once", "writeId": "w", "maxlen": "100"}
        rows.write.format("redis-streams").options(**options).mode("append").save("copy")
        with Connection(url) as connection:
            return read_facts(connection, "copy").entries_added

    def archive() -> int:
        with tempfile.TemporaryDirectory() as folder:
            table = ArchiveTable.open_or_create(folder)
            report = Archiver(table, LocalEngine(), Settings(url, trims=False)).archive(LARGE)
            return report.archived

    for what, action in (("archive, local", archive), ("to Parquet", source), ("to sink", copy)):
        measure(server, f"{entries:,} large entries {what}", action)


def measure_many(spark: SparkSession, server: RunningServer, url: str, streams: int) -> None:
    def source() -> int:
        reader = spark.read.format("redis-streams").options(url=url, streamPattern="many:*")
        return reader.load().count()

    def query() -> str:
        options = {"url": url, "streamPattern": "many:*", "startingOffsets": "earliest"}
        rows = spark.readStream.format("redis-streams").options(**options).load()
        with tempfile.TemporaryDirectory() as folder:
            writer = rows.writeStream.format("noop").option("checkpointLocation", folder)
            running_query = writer.trigger(availableNow=True).start()
            running_query.awaitTermination()
            size = (Path(folder) / "offsets" / "0").stat().st_size
            read = sum(each["numInputRows"] for each in running_query.recentProgress)
            return f"{read:,} rows, an offset of {size:,} bytes"

    measure(server, f"{streams:,} streams by pattern, batch", source)
    measure(server, f"{streams:,} streams by pattern, streaming", query)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--redis", action="store_true", help="on redis-server, not on Rillway")
    options = parser.parse_args()
    spark = spark_session("benchmark")
    with running(start_redis if options.redis else start_rillway) as server:
        url = f"redis://127.0.0.1:{server.port}"
        add_streams(url, options.streams)
        measure_many(spark, server, url, options.streams)
        add_large(url, options.entries, options.bytes)
        measure_large(spark, server, url, options.entries)
    spark.stop()


if __name__ == "__main__":
    main()
