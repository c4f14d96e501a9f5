"""The arguments of `rillway latency`. Imports nothing that the extra rillway[archive] installs."""

from __future__ import annotations

import argparse
from pathlib import Path

from rillway.command_line.arguments import add_range, add_url, interval, with_relative_times
from rillway.command_line.parser import Parser
from rillway.pipeline.wire.ids import MAX_ID


def make_parser() -> Parser:
    parser = Parser(
        "latency",
        "The times of entries from delivery to acknowledgement (pending) and from XADD to "
        "acknowledgement (total), from Rillway's journal of acknowledgements: XCFGSET orders "
        "ACK-JOURNAL orders:acks. An entry is pending while it is handled, and while earlier "
        "entries of the same batch are; with COUNT 1 there are none.",
    )
    parser.add_argument("--stream", required=True, help="the stream that is acknowledged")
    parser.add_argument(
        "--journal", metavar="KEY", help="the stream's journal (default: the server is asked)"
    )
    parser.add_argument(
        "--archive", metavar="PATH", help="the folder of the journal's archive (default: memory)"
    )
    parser.add_argument(
        "--group", action="append", help="a group; may be given again (default: all groups)"
    )
    add_url(parser)
    add_range(parser)
    parser.add_argument(
        "--follow",
        action="store_true",
        help="report new acknowledgements until Ctrl-C, then all of them",
    )
    parser.add_argument(
        "--every",
        type=interval,
        default=2.0,
        metavar="TIME",
        help="how often --follow reports (default: 2s)",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the table as CSV")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="also draw a plot")
    parser.add_argument(
        "--spark",
        action="store_true",
        help="count with Spark: the same numbers, faster for many millions",
    )
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(with_relative_times(arguments))
    if options.follow and options.spark:
        parser.error("--follow does not go with --spark")
    if options.follow and options.last != MAX_ID:
        parser.error("--follow does not go with --to")
    if options.last < options.first:
        parser.error("--to is before --from")
    return options
