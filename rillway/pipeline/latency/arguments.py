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
        "How long entries were pending, from delivery to acknowledgement, and how long they took "
        "from XADD on, from the journal of acknowledgements that Rillway keeps: XCFGSET orders "
        "ACK-JOURNAL orders:acks. An entry is pending while its handler works, and before that "
        "while the entries before it in the same batch are handled: with COUNT 1 there are none.",
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
        "--follow", action="store_true", help="show what comes in, until Ctrl-C; then all of it"
    )
    parser.add_argument(
        "--every",
        type=interval,
        default=2.0,
        metavar="TIME",
        help="how often --follow shows something (default: 2s)",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table as CSV, too")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw it, too")
    parser.add_argument(
        "--spark", action="store_true", help="count with Spark: the same numbers, for millions"
    )
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(with_relative_times(arguments))
    if options.follow and options.spark:
        parser.error("--follow does not go with --spark")
    if options.follow and options.last != MAX_ID:
        parser.error("--follow does not go with --to")
    if options.last < options.first:
        parser.error("--to is before --from")
    return options
