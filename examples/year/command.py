"""`make pipeline-demo`: runs the year, asks, replays, compares, draws.

Exits with 0 if every check passed, else with 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from examples.year.plots import draw
from examples.year.proof import (
    PACED,
    REPLAYED,
    archive_checks,
    history_checks,
    query_checks,
    replay_checks,
)
from examples.year.year import STREAM, Sample, Year, day_of
from rillway.command_line.arguments import from_one, server_url
from rillway.demo.departures.audit import Check
from rillway.demo.departures.data_set import DataSetMissing, Departure, read_departures
from rillway.demo.departures.report import check_lines, table
from rillway.demo.service import ServerFailed, Service
from rillway.pipeline.archive.command import EXPECTED_ERRORS, open_engine
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.files.periods import day_of as date_of
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.replay.ledger import key_of
from rillway.pipeline.wire.connection import Connection

# Enough days for consumers to lag.
MIN_DEPARTURES = 20_000
SHOWN_NIGHTS = 12


def main(arguments: list[str]) -> int:
    """Run the demo and return the exit status."""
    options = parse_options(arguments)
    try:
        departures = read_departures()[: options.departures]
        with ExitStack() as stack:
            folder = options.directory
            if folder is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.mkdir(parents=True, exist_ok=True)
            url = options.url
            if url is None:
                service = Service(folder / "server", 0)
                stack.callback(service.stop)
                url = service.url
            return run(url, folder, options.plots, departures, options.engine)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except (DataSetMissing, ServerFailed, *EXPECTED_ERRORS) as error:
        print(f"pipeline demo: {error}", file=sys.stderr)
        return 1


def run(url: str, folder: Path, plots: Path, departures: Sequence[Departure], engine: str) -> int:
    """All of it; the exit status."""
    archive = folder / "archive"
    if archive.exists() and any(archive.iterdir()):
        print(f"pipeline demo: {archive} has an archive already", file=sys.stderr)
        return 1
    with Connection(url) as connection:
        names = [STREAM, REPLAYED, PACED]
        connection.call("DEL", *names, *map(key_of, names))
    print(f"{len(departures):,} departures go to {url}, and at night to {archive}", flush=True)
    # The last day is cut short by the end of the year in New York: the one before is whole.
    split_day = day_of(departures[-1]) - 1
    before = [departure for departure in departures if day_of(departure) < split_day]
    on_day = sum(day_of(departure) == split_day for departure in departures)
    noon = len(before) + on_day // 2
    checks: list[Check] = []
    year_table = ArchiveTable.open_or_create(archive)
    with open_engine(engine) as chosen:
        year = Year(url, year_table, chosen)
        samples = run_days(year, before)
        # The first half of that day is archived and trimmed when it is asked for.
        year.produce(departures[len(before) : noon])
        year.catch_up()
        samples.append(year.night(split_day, keep_ms=0))
        year.produce(departures[noon:])
    report_nights(samples)
    checks += collect("Queries", query_checks(url, archive, departures, split_day))
    checks += collect("Spark over archive and memory", history_checks(url, archive, departures))
    year.engine = LocalEngine()
    year.catch_up()
    samples.append(year.night(split_day + 1, keep_ms=0))
    done = compact(year_table)
    print(f"  compaction: {done.files_before} files became {done.files_after}", flush=True)
    checks += collect("Archive", archive_checks(url, archive, departures))
    checks += collect("Replay", replay_checks(url, archive, departures))
    year.close()
    plots.mkdir(parents=True, exist_ok=True)
    for path in draw(samples, plots):
        print(f"wrote {path}")
    failed = [check for check in checks if not check.passed]
    print(f"{len(checks) - len(failed)} of {len(checks)} checks passed")
    return 1 if failed else 0


def run_days(year: Year, departures: Sequence[Departure]) -> list[Sample]:
    with Progress("departing", len(departures), unit="departures") as progress:
        samples = list(year.run(departures, progress.advance))
        print(f"  {progress.summary()}, all nights included")
    return samples


def report_nights(samples: Sequence[Sample]) -> None:
    """Some of the nights, evenly spread."""
    step = max(len(samples) // SHOWN_NIGHTS, 1)
    rows = [
        (
            str(date_of(sample.day * 86_400_000)),
            sample.produced,
            sample.archived,
            sample.in_memory,
            sample.lags["billing"],
            sample.pending,
            sample.held_up_by,
        )
        for sample in samples[step - 1 :: step]
    ]
    headings = ("night", "produced", "archived", "in memory", "billing's lag", "pending", "held up")
    print(table(headings, rows), flush=True)


def collect(title: str, checks: Iterator[Check]) -> list[Check]:
    """Run checks, and print each."""
    print(title, flush=True)
    done = []
    for check in checks:
        done.append(check)
        print("\n".join(check_lines([check])), flush=True)
    return done


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Exits with status 2 if they are wrong."""
    parser = argparse.ArgumentParser(
        prog="pipeline-demo",
        description="Run a year of departures through the pipeline, and compare every count.",
    )
    parser.add_argument("--url", type=server_url, help="a server (default: one of its own)")
    parser.add_argument(
        "--directory", type=Path, help="for the archive (default: a temporary folder)"
    )
    parser.add_argument(
        "--plots", type=Path, default=Path("."), help="where the plots go (default: here)"
    )
    parser.add_argument(
        "--departures", type=from_one, help="only the first N of the year, for a shorter run"
    )
    parser.add_argument(
        "--engine",
        choices=("spark", "local"),
        default="local",
        help="what writes the archive's files at night (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if options.departures is not None and options.departures < MIN_DEPARTURES:
        parser.error(f"--departures must be at least {MIN_DEPARTURES:,}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
