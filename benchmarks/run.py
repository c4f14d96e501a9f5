"""Runs the benchmarks: Rillway beside redis-server, in one run. Method: docs/benchmarks.md.

    make bench                                  all cases; some half an hour
    make bench ARGS="--quick"                   the most important ones, smaller; some two minutes
    make bench ARGS="--quick --only xadd"       cases whose names begin with xadd
    make bench ARGS="--resume FILE"             measure what is missing in the figures of a run
    make bench ARGS="--report FILE"             measure nothing: write the page of these figures
    make bench ARGS="--interpreted --only xadd" Rillway's sources, not what is compiled of them
    make bench ARGS="--list"

Rillway is measured as `make compiled` has built it. Figures are written after each case: to --json
FILE or --resume FILE; by a full run without these options, to benchmarks/figures.json
(interpreted.json with --interpreted). When all cases of a full run are measured, and not
interpreted, benchmarks/RESULTS.md, benchmarks/results.png and the figures in docs/benchmarks.md are
written, too.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import machine, plot, record, report, summary
from benchmarks.cases.case import Case
from benchmarks.cases.catalogue import CASES, UnknownCase, chosen
from benchmarks.cases.settings import FULL, QUICK, Scale
from benchmarks.comparison import compare
from benchmarks.contenders import Contender, end_shared, ending_shared
from benchmarks.record import Go, Record, UnfitRecord
from benchmarks.servers import (
    INTERPRETED_NAME,
    Program,
    ServerError,
    interpreted_program,
    redis_program,
    rillway_program,
)

FOLDER = Path(__file__).resolve().parent
FULL_PAIRS = 5
# Both servers, four states of each, thousands of clients.
OPEN_FILES = 10_000
INTERRUPTED = 130
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options. Exits as argparse does."""
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
    files = parser.add_mutually_exclusive_group()
    files.add_argument("--json", type=Path, metavar="FILE", help="write every figure to a new file")
    files.add_argument("--resume", type=Path, metavar="FILE", help="measure what is missing there")
    files.add_argument("--report", type=Path, metavar="FILE", help="write the page of figures")
    parser.add_argument(
        "--interpreted", action="store_true", help="Rillway's sources, not what is compiled"
    )
    parser.add_argument(
        "--against", default="redis-server", metavar="PATH", help="another redis-server"
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def our_program(options: argparse.Namespace) -> Program:
    """The Rillway to measure. Raises ServerError if nothing is compiled."""
    return interpreted_program() if options.interpreted else rillway_program()


def scale_of(options: argparse.Namespace) -> Scale:
    scale = QUICK if options.quick else FULL
    return scale if options.pairs is None else replace(scale, pairs=options.pairs)


def figures_file(options: argparse.Namespace) -> Path | None:
    """The file for the figures."""
    given: Path | None = options.json or options.resume
    is_full = not options.quick and not options.only and scale_of(options).pairs >= FULL_PAIRS
    name = "interpreted.json" if options.interpreted else "figures.json"
    return given or (FOLDER / name if is_full else None)


def is_complete(made: Record) -> bool:
    """Whether these are figures for RESULTS.md: all cases, full amounts, five pairs or more.

    RESULTS.md is about the compiled server, which is what users run.
    """
    wanted = asdict(FULL) | {"pairs": made.settings["pairs"]}
    is_full = all(made.settings[name] == value for name, value in wanted.items())
    is_full = is_full and made.settings["pairs"] >= FULL_PAIRS and all(map(made.has, CASES))
    return is_full and not made.servers[0].startswith(INTERPRETED_NAME)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 if a case could not be measured, 2 for invalid options."""
    options = options_of(arguments)
    try:
        if options.report:
            return _write_page(record.read(options.report, CASES), options.report)
        cases = chosen(options.only, options.quick)
        if options.list:
            print("\n".join(case.name for case in cases))
            return 0
        return _run(cases, options, shlex.join(sys.argv[1:] if arguments is None else arguments))
    except (UnknownCase, UnfitRecord, ServerError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2


def _run(cases: Sequence[Case], options: argparse.Namespace, arguments: str) -> int:
    """Measure the chosen cases. Raises ServerError (no Redis) and UnfitRecord."""
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    contenders = [
        Contender(our_program(options), cores, is_ours=True),
        Contender(redis_program(options.against), cores, is_ours=False),
    ]
    scale = scale_of(options)
    made = _record(contenders, scale, options.resume)
    made.goes.append(Go.starting("make bench" + (f" ARGS={arguments!r}" if arguments else "")))
    print("\n".join(f"{name}: {value}" for name, value in made.machine.items()))
    print(f"{' beside '.join(made.servers)}, {scale.pairs} pairs, {made.settings['pinned']}")
    _allow_open_files()
    path = figures_file(options)
    left = [case for case in cases if not made.has(case)]
    status = measure(left, contenders, scale, made, path) if left else 0
    if path and is_complete(made):
        _write_page(made, path)
    elif path:
        print(f"wrote {path}")
    return status


def _record(contenders: Sequence[Contender], scale: Scale, resumed: Path | None) -> Record:
    """An empty record of this machine and these servers, or the one to resume."""
    ours, theirs = (contender.program.title for contender in contenders)
    cores = contenders[0].cores
    pinned = f"servers to core {cores.server}, load to core {cores.load}"
    if not cores.are_apart:
        pinned += ": ONE CORE FOR BOTH, the figures say little"
    made = Record(machine.description(), (ours, theirs), {"pinned": pinned} | asdict(scale))
    if resumed is None:
        return made
    begun = record.read(resumed, CASES)
    made.check_fits(begun)
    return begun


def measure(
    cases: Sequence[Case],
    contenders: Sequence[Contender],
    scale: Scale,
    made: Record,
    path: Path | None,
) -> int:
    """Measure all cases; returns the exit status. A failing case is noted, and the others run.

    The file is written after each, so an interruption loses one case.
    """
    started = time.monotonic()
    place = machine.pinned({contenders[0].cores.load})
    try:
        with _interruptible(), place, ending_shared(contenders):
            for case in cases:
                lines = _take(case, contenders, scale, made)
                made.goes[-1].note(time.monotonic() - started)
                if path:
                    record.write(made, path)
                print("\n".join(lines), flush=True)  # what is shown is in the file
    except KeyboardInterrupt:
        print("interrupted" + (f"; go on with --resume {path}" if path else ""), flush=True)
        return INTERRUPTED
    go = made.goes[-1]
    print(f"{go.cases} cases in {go.seconds / 60:.1f} minutes; load now {go.load_after}")
    return 1 if made.failures else 0


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt in the block.

    Only once: another signal must not disturb the shutdown of the servers.
    """

    def interrupt(*_: object) -> None:
        for kind in before:
            signal.signal(kind, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {kind: signal.getsignal(kind) for kind in ENDING_SIGNALS}
    for kind in before:
        signal.signal(kind, interrupt)
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _take(case: Case, contenders: Sequence[Contender], scale: Scale, made: Record) -> list[str]:
    """Measure a case; returns the lines to show."""
    started = time.monotonic()
    try:
        results = compare(case, contenders, scale)
    except Exception as error:
        made.failures[case.name] = f"{type(error).__name__}: {error}"
        end_shared(contenders)  # their state is unknown
        return [f"{case.name}: FAILED: {made.failures[case.name]}"]
    made.failures.pop(case.name, None)
    made.add(results)
    made.sort(CASES)
    made.goes[-1].cases += 1
    made.case_seconds[case.name] = round(time.monotonic() - started, 1)
    return [line for result in results for line in report.console_lines(result, made.results)]


def _write_page(made: Record, figures: Path) -> int:
    """Write RESULTS.md and docs/benchmarks.md for a whole run, else a page beside its figures."""
    page, picture = FOLDER / "RESULTS.md", FOLDER / "results.png"
    if not is_complete(made):
        page, picture = figures.with_suffix(".md"), figures.with_suffix(".png")
    is_drawn = plot.draw(made.results, picture, " beside ".join(made.servers))
    page.write_text(report.markdown(made, picture.name if is_drawn else None))
    if is_complete(made):
        summary.put_in(made)
    print(f"wrote {page}" + (f" and {picture}" if is_drawn else ""))
    return 0


def _allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
