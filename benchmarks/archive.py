"""Rates of the archive and latency of `rillway query`: a real redis-server and Rillway.

    PYTHONPATH=. python benchmarks/archive.py [--entries 1000000] [--runs 5] [--engine spark|local]

- archive: entries a second in batches of 250,000, from the first request to the last commit and the
  trim, in a session that has run once. The goal is 150,000.
- query: seconds from starting the command to its first line, without Spark and with --where. The
  goal is 10.

Each figure is the median of the runs; the others are in brackets.
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
from pathlib import Path

from rillway.pipeline.archive.archiver import Archiver, Settings
from rillway.pipeline.archive.command import open_engine
from rillway.pipeline.archive.engine import Engine
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.client.connection import Connection, pack
from tests.support.programs.servers import ROOT, start_redis, start_rillway

STREAM = "orders"
BATCH = 250_000
PIPELINED = 1000
WARM_UP = 50_000
FIRST_MS = 1_357_000_000_000
LIVE = 10_000


def fill(url: str, count: int) -> None:
    """Entries of three short fields, 1,000 for each second of their time."""
    with Connection(url) as connection:
        connection.call("FLUSHALL")
        for begin in range(0, count, PIPELINED):
            numbers = range(begin, min(begin + PIPELINED, count))
            connection.send(
                b"".join(
                    pack(
                        "XADD",
                        STREAM,
                        f"{FIRST_MS + n}-0",
                        "n",
                        n,
                        "item",
                        "tea",
                        "k",
                        n % 7,
                    )
                    for n in numbers
                )
            )
            for _ in numbers:
                connection.receive()


def archive_rate(url: str, folder: Path, engine: Engine, count: int) -> float:
    fill(url, count)
    shutil.rmtree(folder, ignore_errors=True)
    table = ArchiveTable.open_or_create(folder)
    began = time.perf_counter()
    report = Archiver(table, engine, Settings(url, batch_entries=BATCH)).archive(STREAM)
    seconds = time.perf_counter() - began
    # The last archived entry stays in the stream.
    assert (report.archived, report.trimmed) == (count, count - 1)
    return count / seconds


def first_line_seconds(url: str, folder: Path, *words: str) -> float:
    """From starting the command to its first entry."""
    program = (
        "import sys; from rillway.pipeline.query.command import main; sys.exit(main(sys.argv[1:]))"
    )
    source = ["--stream", STREAM, "--url", url, "--archive", str(folder)]
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", program, *source, "--format", "json", *words],
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


def show(server: str, what: str, unit: str, values: list[float], digits: int = 0) -> None:
    rest = ", ".join(f"{value:,.{digits}f}" for value in sorted(values))
    print(
        f"{server:<20} {what:<24} {statistics.median(values):>12,.{digits}f} {unit} ({rest})",
        flush=True,
    )


def measure_archive(
    server: str, url: str, engine: Engine, folder: Path, count: int, runs: int
) -> None:
    archive_rate(url, folder, engine, WARM_UP)
    rates = [archive_rate(url, folder, engine, count) for _ in range(runs)]
    show(server, f"archive, {type(engine).__name__}", "entries/s", rates)


def measure_queries(server: str, url: str, folder: Path, runs: int) -> None:
    """A range of the entries that were archived last, and some later ones."""
    with Connection(url) as connection:
        requests = [("XADD", STREAM, "*", "n", n, "item", "milk") for n in range(LIVE)]
        connection.call_all(requests)
    plain = [first_line_seconds(url, folder, "--limit", "100") for _ in range(runs)]
    show(server, "query, first entry", "s", plain, 2)
    where = ["--where", "fields['item'] = 'milk'"]
    with_where = [first_line_seconds(url, folder, *where) for _ in range(runs)]
    show(server, "query --where, first", "s", with_where, 2)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Rates of the archive, and the start of a query.")
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--engine", choices=("spark", "local"), action="append")
    parser.add_argument("--server", choices=("redis", "rillway"), action="append")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="rillway-bench-") as name:
        folder = Path(name)
        for kind in options.server or ("redis", "rillway"):
            data = folder / kind
            data.mkdir()
            running = start_redis(data) if kind == "redis" else start_rillway(data)
            try:
                url = f"redis://127.0.0.1:{running.port}"
                target = folder / "archive"
                for engine_name in options.engine or ("spark", "local"):
                    with open_engine(engine_name) as engine:
                        measure_archive(
                            running.name, url, engine, target, options.entries, options.runs
                        )
                measure_queries(running.name, url, target, options.runs)
            finally:
                running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
