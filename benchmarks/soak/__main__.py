"""What abusive clients do to the others, and to the server's memory, beside redis-server.

    make soak                                 all rows, some ten minutes
    make soak ARGS="--rows idle-tls"          one row; may be repeated
    make soak ARGS="--scale 0.1 --ours-only"  a tenth of it, without redis-server: within a minute
    make soak ARGS="--json FILE"              every figure

The exit code is 1 if a bound is missed. Rows, bounds and figures: docs/how-to/security.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.servers import ServerError, redis_program, rillway_program
from benchmarks.soak.measurement import Measured, Memory, measure
from benchmarks.soak.rows import ROWS, misses

HEADER = (
    "                                      ms, of the others          MB: resident, used_memory",
    "row                   server            p50   p99 p99.9  longest   before      peak     after",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rows that were asked for; 1 if a bound is missed, 2 if a server does not start."""
    options = _parse(arguments)
    _allow_many_files()
    rows = [row for row in ROWS if not options.rows or row.name in options.rows]
    written: dict[str, Any] = {"scale": options.scale, "rows": {}}
    print(*HEADER, sep="\n")
    missed = 0
    try:
        programs = [rillway_program()]
        if not options.ours_only:
            programs.append(redis_program("redis-server"))
        for row in rows:
            measured = []
            for program in programs:
                with tempfile.TemporaryDirectory() as folder:
                    measured.append(measure(program, row.abuse, options.scale, Path(folder)))
                print(line(row.name, measured[-1]), flush=True)
            found = misses(row, measured[0], measured[1] if measured[1:] else None, options.scale)
            for reason in found:
                print(f"  MISSED: {reason}", flush=True)
            missed += bool(found)
            of_servers = {each.title: asdict(each) for each in measured}
            written["rows"][row.name] = {"missed": found, "servers": of_servers}
    except ServerError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(written, indent=1) + "\n")
    return 1 if missed else 0


def line(name: str, measured: Measured) -> str:
    """A row of the table."""
    memory = "".join(map(_shown, (measured.before, measured.peak, measured.after)))
    figures = ", ".join(f"{value:,.0f} {what}" for what, value in measured.figures.items())
    times = f"{measured.p50:7.2f}{measured.p99:6.1f}{measured.p999:6.1f}{measured.longest:9.1f}"
    return f"{name:22}{measured.title:14}{times}{memory}   {figures}".rstrip()


def _shown(memory: Memory) -> str:
    return f"{memory.resident / 1e6:6.0f}{memory.used / 1e6:5.0f}"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.partition("\n")[0])
    names = [row.name for row in ROWS]
    parser.add_argument("--rows", metavar="NAME", action="append", choices=names, help="a row")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full amounts")
    parser.add_argument("--ours-only", action="store_true", help="without redis-server")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure")
    return parser.parse_args(arguments)


def _allow_many_files() -> None:
    """Servers and clients inherit it."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
