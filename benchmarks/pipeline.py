"""The Spark pipeline on a real redis-server and on Rillway.

    SERVED=$PWD/.run/compiled PYTHONPATH=. python benchmarks/pipeline.py
        [--entries 1000000] [--runs 5] [--only spark]

SERVED: the server that `make compiled` has built; without it, the sources are measured.

- From the source to Parquet, and from there into the sink. The goals on two cores, which Spark, its
  Python workers and the server share, are 500,000 and 400,000 entries a second, and 250,000 exactly
  once. Beside it Spark's own Parquet source, whose rows are the same.
- archive: in batches of 250,000, from the first request to the last commit and the trim, with Spark
  and without, and with a typed column for each field. The goal is 150,000 entries a second.
- rounds of many streams: 500 and 10,000 with 200 and 10 entries each, then nothing new, then an
  entry each; seconds, from opening the table to the last trim. The goals for 500 are 5, 0.5 and
  0.5.
- growth: processor time of a round of 20 streams with an entry each, and of the upkeep in it, as
  the table's log grows to 1,400 versions, which is a day of rounds each minute.
- query: seconds from starting the command to its first line, without Spark and with --where. The
  goal is 10.

--only: the parts of these that are named, `spark`, `archive`, `rounds`, `growth` or `query`, which
needs the archive.

Entries have three short fields. Each figure is the median of the runs, after some that warm up the
JVM; the others are in brackets.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.command import open_engine
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact_due
from rillway.pipeline.spark.spark_session import spark_session
from rillway.pipeline.wire.connection import Connection
from tests.support.programs.servers import (
    COMPARED_REDIS,
    ROOT,
    RunningServer,
    compared_redis,
    start_redis,
    start_rillway,
)

STREAM, COPY = "measurements", "copied"
BATCH = 250_000
PIPELINED = 1000
COLUMNS = "n BIGINT, item STRING, k INT"
FIRST_MS = 1_357_000_000_000
LIVE = 10_000
WARM_UPS = 3
# Streams and entries in each.
ROUNDS = (500, 200), (10_000, 10)
# Streams with an entry each, rounds, and rounds of which the median is shown.
GROWING, GROWN, SHOWN = 20, 1_400, 200
QUERY = "import sys; from rillway.pipeline.query.command import main; sys.exit(main(sys.argv[1:]))"


class Measurements:
    """The measurements of one server; files are written to `folder`."""

    def __init__(self, server: RunningServer, folder: Path, entries: int, runs: int) -> None:
        self._server = server
        self._url = f"redis://127.0.0.1:{server.port}"
        self._folder = folder
        self._entries = entries
        self._runs = runs

    def all(self, parts: Collection[str]) -> None:
        if "spark" in parts:
            spark = spark_session("benchmark")
            self._spark(spark)
            spark.stop()
        if "archive" in parts:
            for engine in ("spark", "local"):
                self._archive(engine, [])
                self._archive(engine, [f"{STREAM}={COLUMNS}"])
        if "rounds" in parts:
            self._rounds()
        if "growth" in parts:
            self._growth()
        if "query" in parts:
            self._queries()

    def _seconds(self, action: Callable[[], object], prepare: Callable[[], object]) -> list[float]:
        taken = []
        for _ in range(WARM_UPS + self._runs):
            prepare()
            began = time.perf_counter()
            action()
            taken.append(time.perf_counter() - began)
        return taken[WARM_UPS:]

    def _show(self, what: str, unit: str, values: list[float], digits: int = 0) -> None:
        rest = ", ".join(f"{value:,.{digits}f}" for value in sorted(values))
        middle = f"{statistics.median(values):,.{digits}f}"
        print(f"{self._server.name:<20} {what:<24} {middle:>12} {unit} ({rest})", flush=True)

    def _rate(
        self, what: str, action: Callable[[], object], prepare: Callable[[], object] = int
    ) -> None:
        rates = [self._entries / seconds for seconds in self._seconds(action, prepare)]
        self._show(what, "entries/s", rates)

    def _fill(self) -> None:
        """1,000 entries for each second of their time."""
        with Connection(self._url) as connection:
            connection.call("FLUSHALL")
            for begin in range(0, self._entries, PIPELINED):
                numbers = range(begin, min(begin + PIPELINED, self._entries))
                connection.call_all(
                    ("XADD", STREAM, f"{FIRST_MS + n}-0", "n", n, "item", "tea", "k", n % 7)
                    for n in numbers
                )

    def _spark(self, spark: SparkSession) -> None:
        path = str(self._folder / "parquet")
        source = {"url": self._url, "stream": STREAM}
        streams = spark.read.format("redis-streams").options(**source)
        typed = spark.read.format("redis-streams").schema(
            "n BIGINT, item STRING, k INT, _id STRING"
        )

        def to_parquet() -> None:
            streams.load().write.mode("overwrite").parquet(path)

        def to_typed_parquet() -> None:
            rows = typed.options(**source, schemaMode="columns").load()
            rows.write.mode("overwrite").parquet(f"{path}-typed")

        def parquet_to_parquet() -> None:
            spark.read.parquet(path).write.mode("overwrite").parquet(f"{path}-copied")

        def to_sink(**more: str) -> None:
            sink = spark.read.parquet(path).select("fields").write.format("redis-streams")
            sink.options(url=self._url, stream=COPY, **more).mode("append").save()

        def remove_copy() -> None:
            with Connection(self._url) as connection:
                connection.call("DEL", COPY)

        writes = iter(range(1000))
        self._fill()
        self._rate("source to Parquet", to_parquet)
        self._rate("typed columns to Parquet", to_typed_parquet)
        self._rate("Parquet to Parquet", parquet_to_parquet)
        self._rate("Parquet to sink", to_sink, remove_copy)
        self._rate(
            "the same, exactly once",
            lambda: to_sink(delivery="exactly-once", writeId=f"bench-{next(writes)}"),
            remove_copy,
        )

    def _archive(self, engine_name: str, schema: list[str]) -> None:
        with open_engine(engine_name) as engine:

            def prepare() -> None:
                self._fill()
                shutil.rmtree(self._folder / "archive", ignore_errors=True)

            def archive() -> None:
                table = ArchiveTable.open_or_create(self._folder / "archive")
                if schema:
                    set_columns(table, from_options(schema))
                settings = ArchiverSettings(self._url, batch_entries=BATCH)
                report = Archiver(table, engine, settings).archive(STREAM)
                # The last archived entry stays in the stream.
                assert (report.archived, report.trimmed) == (self._entries, self._entries - 1)

            what = f"archive, {engine_name}{', columns' if schema else ''}"
            self._rate(what, archive, prepare)

    def _rounds(self) -> None:
        """Of many streams: with entries, with nothing new, with an entry each."""
        for streams, entries in ROUNDS:
            names = [f"stream:{number}" for number in range(streams)]
            taken: dict[str, list[float]] = {}
            for run in range(self._runs):
                folder = self._folder / f"rounds-{streams}-{run}"
                with Connection(self._url) as connection:
                    connection.call("FLUSHALL")
                self._round(folder / "warm-up", names[:1])
                for what, begin, end in (
                    ("first", 0, entries),
                    ("idle", 0, 0),
                    ("an entry each", entries, entries + 1),
                ):
                    self._fill_all(names, begin, end)
                    began = time.perf_counter()
                    archived = self._round(folder / "archive", names)
                    taken.setdefault(what, []).append(time.perf_counter() - began)
                    assert archived == streams * (end - begin)
                shutil.rmtree(folder)
            for what, seconds in taken.items():
                self._show(f"{streams:,} streams, {what}", "s", seconds, 2)

    def _growth(self) -> None:
        """As `rillway archive --every` has its rounds: one table, compacted where that is due."""
        names = [f"stream:{number}" for number in range(GROWING)]
        with Connection(self._url) as connection:
            connection.call("FLUSHALL")
        table = ArchiveTable.open_or_create(self._folder / "growth")
        archiver = Archiver(table, LocalEngine(), ArchiverSettings(self._url, allows_missing=True))
        taken: list[float] = []
        for number in range(GROWN):
            self._fill_all(names, number, number + 1)
            began = time.process_time()
            assert archiver.round(names).archived == GROWING
            compact_due(table, seconds=1.0)
            table.tidy()
            taken.append(1000 * (time.process_time() - began))
            if len(taken) == SHOWN:
                middle = [statistics.median(taken)]
                self._show(f"a round, at version {table.version:,}", "ms", middle, 1)
                taken.clear()

    def _round(self, folder: Path, names: list[str]) -> int:
        table = ArchiveTable.open_or_create(folder)
        settings = ArchiverSettings(self._url, allows_missing=True)
        outcome = Archiver(table, LocalEngine(), settings).round(names)
        assert not outcome.failures
        return outcome.archived

    def _fill_all(self, names: list[str], begin: int, end: int) -> None:
        """A second between the entries of a stream."""
        with Connection(self._url) as connection:
            for number in range(begin, end):
                entry_id = f"{FIRST_MS + 1000 * number}-0"
                connection.call_all(
                    ("XADD", name, entry_id, "n", number, "item", "tea", "k", number % 7)
                    for name in names
                )

    def _queries(self) -> None:
        """A range of the entries that were archived last, and some later ones."""
        with Connection(self._url) as connection:
            connection.call_all(("XADD", STREAM, "*", "n", n, "item", "milk") for n in range(LIVE))
        for what, words in (
            ("query, first entry", ("--limit", "100")),
            ("query --where, first", ("--where", "fields['item'] = 'milk'")),
        ):
            seconds = [self._first_line_seconds(*words) for _ in range(self._runs)]
            self._show(what, "s", seconds, 2)

    def _first_line_seconds(self, *words: str) -> float:
        """From starting the command to its first entry."""
        source = ["--stream", STREAM, "--url", self._url, "--archive", f"{self._folder}/archive"]
        began = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-c", QUERY, *source, "--format", "json", *words],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b'{"stream"')
            seconds = time.perf_counter() - began
            process.stdout.read()
        return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parts = ("spark", "archive", "rounds", "growth", "query")
    parser.add_argument("--only", choices=parts, action="append")
    options = parser.parse_args()
    redis = partial(start_redis, program=compared_redis() or "redis-server", line=COMPARED_REDIS)
    for start in (redis if compared_redis() else start_redis, start_rillway):
        with tempfile.TemporaryDirectory(prefix="rillway-bench-") as folder:
            server = start(Path(folder))
            try:
                measurements = Measurements(server, Path(folder), options.entries, options.runs)
                measurements.all(options.only or parts)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
