"""Streams to Parquet and rows to streams, through Spark, in entries a second.

    SERVED=$PWD/.run/compiled PYTHONPATH=. python benchmarks/pipeline.py
        [--entries 1000000] [--runs 5]

SERVED: the server that `make compiled` has built; without it, the sources are measured.

Against a real redis-server and against Rillway, on this machine, where Spark, its Python workers
and the server share the cores. The goals on two cores are 400,000 entries a second from the source
to Parquet and 250,000 into the sink. Entries have three short fields. Runs before the first that
counts warm up the JVM.

Each median comes with the processor time for a million entries, of Spark with its workers and of
the server: on a machine with other load, that is more meaningful than the rate.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rillway.pipeline.arrow.schema import PAIR, PAIRS
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.spark.options import SinkOptions
from rillway.pipeline.spark.spark_session import spark_session
from rillway.pipeline.spark.writer import EntryWriter
from tests.support.programs.servers import RunningServer, start_redis, start_rillway

STREAM, COPY = "measurements", "copied"
BATCH_ROWS = 10_000
WARM_UPS = 3
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def measurements(count: int) -> Iterator[pa.RecordBatch]:
    """Entries like those of a sensor, some 30 bytes each."""
    for begin in range(0, count, BATCH_ROWS):
        rows = [
            [
                (b"sensor", b"s%d" % (number % 50)),
                (b"temp", b"%.1f" % (20 + number % 17 / 10)),
                (b"seq", b"%d" % number),
            ]
            for number in range(begin, min(begin + BATCH_ROWS, count))
        ]
        pairs = [dict(zip(("name", "value"), pair, strict=True)) for row in rows for pair in row]
        offsets = range(0, len(pairs) + 1, 3)
        fields = pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), pa.array(pairs, PAIR), type=PAIRS
        )
        yield pa.record_batch([fields], names=["fields"])


# -- processor time ------------------------------------------------------------------------------


def own_tree() -> list[int]:
    """This process and all its descendants, including ended children of running ones."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parents[int(folder.name)] = int(_stat(int(folder.name))[1])
            except OSError:
                continue
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def processor_seconds(pids: list[int]) -> float:
    """User and system time, of children that were waited for as well."""
    total = 0
    for pid in pids:
        try:
            total += sum(map(int, _stat(pid)[11:15]))
        except OSError:
            continue
    return total / TICKS_A_SECOND


# -- measuring -----------------------------------------------------------------------------------


def measure(
    what: str, server: RunningServer, entries: int, runs: int, action: Callable[[], object]
) -> None:
    rates: list[float] = []
    spark_seconds: list[float] = []
    server_seconds: list[float] = []
    for run in range(WARM_UPS + runs):
        spark_pids = [pid for pid in own_tree() if pid != server.process.pid]
        before = processor_seconds(spark_pids), processor_seconds([server.process.pid])
        begin = time.perf_counter()
        action()
        seconds = time.perf_counter() - begin
        spark_pids = [pid for pid in own_tree() if pid != server.process.pid]
        after = processor_seconds(spark_pids), processor_seconds([server.process.pid])
        if run >= WARM_UPS:
            rates.append(entries / seconds)
            spark_seconds.append((after[0] - before[0]) * 1e6 / entries)
            server_seconds.append((after[1] - before[1]) * 1e6 / entries)
    print(
        f"{server.name:<20} {what:<24} {statistics.median(rates):>9,.0f} a second"
        f" (best {max(rates):,.0f}, worst {min(rates):,.0f});"
        f" processor seconds a million: Spark {statistics.median(spark_seconds):.1f},"
        f" server {statistics.median(server_seconds):.1f}",
        flush=True,
    )


def measure_server(spark: SparkSession, server: RunningServer, options: argparse.Namespace) -> None:
    entries, runs = options.entries, options.runs
    url = f"redis://127.0.0.1:{server.port}"
    EntryWriter(SinkOptions(url=url, stream=STREAM)).write(measurements(entries))

    def source() -> DataFrame:
        return spark.read.format("redis-streams").options(url=url, stream=STREAM).load()

    def sink(rows: DataFrame, **more: str) -> None:
        with Connection(url) as connection:
            connection.call("DEL", COPY)
        rows.write.format("redis-streams").options(url=url, stream=COPY, **more).mode(
            "append"
        ).save()

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/parquet"
        measure(
            "source to Parquet",
            server,
            entries,
            runs,
            lambda: source().write.mode("overwrite").parquet(path),
        )
        rows = spark.read.parquet(path)
        measure("Parquet to sink", server, entries, runs, lambda: sink(rows))
        writes = iter(range(1000))
        measure(
            "the same, exactly once",
            server,
            entries,
            runs,
            lambda: sink(rows, delivery="exactly-once", writeId=f"bench-{next(writes)}"),
        )


@contextmanager
def running(start: Callable[[Path], RunningServer]) -> Iterator[RunningServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = start(Path(folder))
        try:
            yield server
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    spark = spark_session("benchmark")
    for start in (start_redis, start_rillway):
        with running(start) as server:
            measure_server(spark, server, options)
    spark.stop()


if __name__ == "__main__":
    main()
