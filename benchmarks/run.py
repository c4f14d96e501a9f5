"""Rillway beside redis-server, on this machine, in one run. docs/benchmarks.md tells the method.

    make bench                                  all cases; some forty minutes
    make bench ARGS="--quick"                   the most telling ones, smaller; some three minutes
    make bench ARGS="--quick --only xadd"       cases whose names begin with xadd
    make bench ARGS="--list"

A full run writes benchmarks/RESULTS.md and benchmarks/results.png; every run can write --json FILE,
and the picture beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import machine, plot, report
from benchmarks.cases.case import FULL, QUICK, Case, Scale
from benchmarks.cases.catalogue import UnknownCase, chosen
from benchmarks.comparison import compare
from benchmarks.report import Report
from benchmarks.servers import Contender, ServerError, redis_program, rillway_program

FOLDER = Path(__file__).resolve().parent
FULL_PAIRS = 5
# Both servers, four states of each, thousands of clients.
OPEN_FILES = 10_000


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for. Exits as argparse does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases, less data, three pairs")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CASE",
        help="cases that begin so; repeatable",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--pairs", type=_positive, help="turns of A B (5; with --quick, 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    parser.add_argument(
        "--against", default="redis-server", metavar="PATH", help="another redis-server"
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def scale_of(options: argparse.Namespace) -> Scale:
    scale = QUICK if options.quick else FULL
    return scale if options.pairs is None else replace(scale, pairs=options.pairs)


def is_complete(options: argparse.Namespace) -> bool:
    """Whether the run is one for RESULTS.md."""
    return not options.quick and not options.only and scale_of(options).pairs >= FULL_PAIRS


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 if a case could not be measured, 2 if it is unknown or there is no Redis."""
    options = options_of(arguments)
    try:
        cases = chosen(options.only, options.quick)
        if options.list:
            print("\n".join(case.name for case in cases))
            return 0
        redis = redis_program(options.against)
    except (UnknownCase, ServerError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    scale = scale_of(options)
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    rillway = rillway_program()
    contenders = [Contender(rillway, cores, True), Contender(redis, cores, False)]
    settings = {"pinned": f"servers to core {cores.server}, load to core {cores.load}"}
    if not cores.are_apart:
        settings["pinned"] += ": ONE CORE FOR BOTH, the figures say little"
    made = Report(machine.description(), (rillway.title, redis.title), settings | asdict(scale))
    print("\n".join(f"{name}: {value}" for name, value in (made.machine | settings).items()))
    print(f"{' beside '.join(made.servers)}, {scale.pairs} pairs")
    _allow_open_files()
    with machine.pinned({cores.load}):
        _measure(cases, contenders, scale, made)
    _write(made, options)
    return 1 if made.failures else 0


def _measure(
    cases: Sequence[Case], contenders: Sequence[Contender], scale: Scale, made: Report
) -> None:
    """All cases; one that fails is noted, and the others go on."""
    started = time.monotonic()
    for case in cases:
        try:
            results = compare(case, contenders, scale)
        except Exception as error:
            made.failures[case.name] = f"{type(error).__name__}: {error}"
            print(f"{case.name}: FAILED: {made.failures[case.name]}", flush=True)
            continue
        made.add(results)
        for result in results:
            print("\n".join(report.console_lines(result, made.results)), flush=True)
    made.seconds = time.monotonic() - started
    made.machine["load at the end"] = machine.load_average()
    print(f"took {made.seconds / 60:.1f} minutes; load now {made.machine['load at the end']}")


def _write(made: Report, options: argparse.Namespace) -> None:
    picture = FOLDER / "results.png"
    if options.json:
        options.json.write_text(json.dumps(report.as_json(made), indent=1) + "\n")
        picture = options.json.with_suffix(".png")
    if is_complete(options):
        (FOLDER / "RESULTS.md").write_text(report.markdown(made))
    elif not options.json:
        return
    if plot.draw(list(made.results.values()), picture, " beside ".join(made.servers)):
        print(f"wrote {picture}")


def _allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
