"""The arguments of `rillway lag`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rillway.command_line.arguments import add_url, duration, from_one, from_zero, interval
from rillway.command_line.parser import Parser


def make_parser() -> Parser:
    parser = Parser(
        "lag",
        "How far consumer groups are behind, how fast they read, and when they will catch up.",
    )
    parser.add_argument("--stream", action="append", help="a stream; may be given again")
    parser.add_argument(
        "--pattern",
        help="all streams whose names match, such as 'orders:*', besides those of --stream "
        "(default: all, without --stream)",
    )
    parser.add_argument(
        "--group", action="append", help="a group; may be given again (default: all groups)"
    )
    parser.add_argument(
        "--every", type=interval, default=1.0, metavar="TIME", help="the interval (default: 1s)"
    )
    parser.add_argument(
        "--samples",
        type=from_one,
        metavar="N",
        help="end after N samples (default: until Ctrl-C; one with a limit)",
    )
    parser.add_argument(
        "--fail-above",
        type=from_zero,
        metavar="N",
        help="exit with status 3 if the last sample has a group with a lag of more than N",
    )
    parser.add_argument(
        "--oldest-above",
        type=duration,
        metavar="TIME",
        help="the same if a pending entry is older than TIME, such as 60s",
    )
    parser.add_argument(
        "--json", action="store_true", help="an object for each sample, instead of lines"
    )
    add_url(parser)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the samples as CSV")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw a plot at the end")
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.stream is None and options.pattern is None:
        options.pattern = "*"
    has_limit = options.fail_above is not None or options.oldest_above is not None
    if options.samples is None and has_limit:
        options.samples = 1
    return options
