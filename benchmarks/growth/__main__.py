"""Doubles one quantity at a time and compares how the time of each request grows with Redis's.

    make growth                                   all quantities and requests: 20 minutes
    make growth ARGS="--only consumers,users"     some quantities
    make growth ARGS="--share 0.1"                every tenth request, all quantities
    make growth ARGS="--rows XINFO"               requests that contain a word

Ends with status 1 if a row grows faster than Redis's, or is both longer than 10 ms and 1.3 times
Redis's time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import sys
from collections.abc import Iterator

from benchmarks.growth.growth import Meter, Row, exponent
from benchmarks.growth.quantities import MOST_CONNECTIONS, QUANTITIES, World
from benchmarks.growth.requests import ROWS, SEED, lines
from benchmarks.servers import Program, Server, best_redis, pack, rillway_program

DIRECTIVES = ("--databases", "10000", "--maxclients", "10000", "--latency-tracking", "no")


def main() -> int:
    """Run the comparison; the exit status."""
    options = _options()
    _allow_connections()
    chosen = options.only.split(",") if options.only else list(QUANTITIES)
    chosen_lines = [line for line in lines(ROWS) if options.rows in line]
    chosen_lines = chosen_lines[:: round(1 / options.share)]
    ours = rillway_program(options.interpreted)
    defects = 0
    for name in chosen:
        sizes = list(_sizes(name, options.least, options.factor))
        rows = [Row(line) for line in chosen_lines]
        _measure_both(ours, name, sizes, rows)
        if doubtful := [row for row in rows if row.is_defect(sizes)]:
            _confirm(ours, name, sizes, doubtful)
        defects += _report(name, sizes, rows, shows_all=options.all)
    print(f"{defects} rows grow faster than Redis's, or are slow")
    return 1 if defects else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make growth", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="quantities, with commas between them")
    parser.add_argument("--rows", default="", help="requests that contain this")
    parser.add_argument("--share", type=float, default=1.0, help="the share of the requests")
    parser.add_argument("--least", type=float, default=1.0, help="a factor for all sizes")
    parser.add_argument("--factor", type=int, default=2, help="from one size to the next")
    parser.add_argument("--all", action="store_true", help="print all rows")
    parser.add_argument("--interpreted", action="store_true", help="what is not compiled")
    return parser.parse_args()


def _allow_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(3 * MOST_CONNECTIONS, most), most))


def _sizes(name: str, least: float, factor: int) -> Iterator[int]:
    _, size, last = QUANTITIES[name]
    size, last = round(size * least), round(last * least)
    while size <= last:
        yield size
        size *= factor


def _measure_both(ours: Program, name: str, sizes: list[int], rows: list[Row]) -> None:
    for program in (ours, best_redis()):
        _measure(program, name, sizes, rows, is_ours=program is ours)


def _confirm(ours: Program, name: str, sizes: list[int], doubtful: list[Row]) -> None:
    """Measure rows again, on new servers: of each time the lesser counts."""
    again = [Row(row.text) for row in doubtful]
    _measure_both(ours, name, sizes, again)
    for row, other in zip(doubtful, again, strict=True):
        row.keep_least(other)


def _measure(program: Program, name: str, sizes: list[int], rows: list[Row], is_ours: bool) -> None:
    """Let a quantity grow on a server of its own, and measure all rows at each size."""
    grow = QUANTITIES[name][0]
    with Server(program, os.sched_getaffinity(0), DIRECTIVES) as server:
        world, had = World(server), 0
        seed = [shlex.split(part) for line in lines(SEED) for part in line.split(" ; ")]
        server.pipeline([pack(*(w.replace("\\n", "\n") for w in words)) for words in seed])
        meter = Meter(server)
        for size in sizes:
            grow(world, range(had, size))
            had = size
            server.settle()
            for row in rows:
                (row.ours if is_ours else row.redis).append(meter.time_us(row.text))
        world.connections.close()
        meter.close()


def _report(name: str, sizes: list[int], rows: list[Row], *, shows_all: bool) -> int:
    """Print the rows of a quantity that are not as they should be; their number."""
    defects = 0
    print(f"{name}, {sizes[0]:,} to {sizes[-1]:,}:", flush=True)
    for row in rows:
        is_defect = row.is_defect(sizes)
        defects += is_defect
        if is_defect or shows_all:
            print(f"  {'!' if is_defect else ' '} {_figures(row, sizes)}  {row.text[:100]}")
    sys.stdout.flush()
    return defects


def _figures(row: Row, sizes: list[int]) -> str:
    """Exponent, first and last time in us: ours, then Redis's."""
    parts = []
    for times in (row.ours, row.redis):
        known = [time for time in times if time is not None]
        if len(known) == len(sizes):
            parts.append(f"{exponent(sizes, known):4.2f} {known[0]:8.1f} {known[-1]:9.1f}")
        else:
            parts.append(f"{'refused':>23}")
    return " | ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
