"""The arguments of `rillway demo` and `rillway demo departures`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rillway.command_line.arguments import (
    duration,
    from_one,
    from_zero,
    port,
    server_url,
    whole_number,
)
from rillway.command_line.parser import Parser
from rillway.demo.jobs.work import KEYS

JOB_RATE = 40
# The rate of the latency test in Redis's tutorial on streams.
DEPARTURE_RATE = 10_000
# With fewer, the run ends before two consumers can crash in the middle of it.
MIN_DEPARTURES = 2_000
# The stream, and the ledger of what was acknowledged.
DEPARTURE_KEYS = ("departures", "departures:acknowledged")


def make_parser() -> Parser:
    parser = Parser(
        "demo",
        "A queue of jobs with four workers. Some jobs wait, fail, hang or end their worker: the "
        "server delivers them again, and moves what always fails to the dead letters. At the end "
        "a table accounts for every job. `rillway demo departures` sends 336,776 real departures "
        "instead, and proves that each was acknowledged once.",
    )
    add_server_options(parser, KEYS)
    parser.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        metavar="TIME",
        help="end after this time (default: when q closes top; without a terminal 20s)",
    )
    parser.add_argument(
        "--rate",
        type=from_one,
        default=JOB_RATE,
        help=f"jobs a second, varying by half (default: {JOB_RATE})",
    )
    return parser


def departures_parser() -> Parser:
    parser = Parser(
        "demo departures",
        "Send a year of real departures through a stream to ten consumer processes, "
        "two of which crash, and check that each departure was acknowledged exactly once.",
    )
    add_server_options(parser, DEPARTURE_KEYS)
    parser.add_argument(
        "--departures",
        type=whole_number(MIN_DEPARTURES),
        help="send only the first N of the year",
    )
    parser.add_argument(
        "--rate",
        type=from_zero,
        default=DEPARTURE_RATE,
        help=f"departures sent a second, 0 for as many as possible (default: {DEPARTURE_RATE:,})",
    )
    return parser


def add_server_options(parser: Parser, keys: Sequence[str]) -> None:
    """Add the options of both demos. `keys`: the keys that --overwrite deletes."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--url", type=server_url, help="use this server instead of starting one (redis://...)"
    )
    where.add_argument(
        "--port",
        type=port,
        default=0,
        help="port of the server started (default: a free one)",
    )
    parser.add_argument(
        "--directory", type=Path, help="where the server started runs (default: a temporary folder)"
    )
    parser.add_argument(
        "--keep-server", action="store_true", help="leave the server started running at the end"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help=f"delete the keys {', '.join(keys)} first"
    )


JOBS = {"departures": departures_parser}


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    job, *rest = arguments or [""]
    parser = JOBS[job]() if job in JOBS else make_parser()
    options = parser.parse_args(rest if job in JOBS else arguments)
    if options.keep_server and options.directory is None:
        parser.error("--keep-server needs --directory, where the server keeps running")
    return options
