"""The arguments of `rillway top`."""

from __future__ import annotations

import argparse

from rillway.command_line.arguments import add_url, duration, from_zero, interval
from rillway.command_line.parser import Parser


def make_parser() -> Parser:
    parser = Parser(
        "top",
        "Streams, groups and consumers of a server, live in the terminal. "
        "It takes at most 1 % of the server's time, and never writes to it.",
    )
    add_url(parser)
    parser.add_argument("--match", metavar="GLOB", help="only streams whose names match")
    parser.add_argument(
        "--db", type=from_zero, metavar="N", help="the database (default: that of the URL)"
    )
    parser.add_argument(
        "--every",
        type=interval,
        default=1.0,
        metavar="TIME",
        help="time between two samples (default: 1s)",
    )
    parser.add_argument(
        "--dead-after",
        type=duration,
        default=60.0,
        metavar="TIME",
        help="a consumer with pending entries that is idle for longer is dead (default: 60s)",
    )
    parser.add_argument(
        "--once", action="store_true", help="print one sample (the default without a terminal)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print an object for each sample, until Ctrl-C"
    )
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    return make_parser().parse_args(arguments)
