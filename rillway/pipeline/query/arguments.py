"""The arguments of `rillway query`. Imports nothing that the extra rillway[archive] installs."""

from __future__ import annotations

import argparse
from pathlib import Path

from rillway.command_line.arguments import (
    add_allow_missing,
    add_range,
    add_storage_options,
    add_url,
    from_one,
    with_relative_times,
)
from rillway.command_line.parser import Parser
from rillway.pipeline.archive.limits import ALL, EPOCH_CHOICES

FORMATS = ("table", "json", "csv", "parquet")


def make_parser() -> Parser:
    parser = Parser(
        "query",
        "Entries of a stream in a range of time, from its archive and from memory, each exactly "
        "once, even during archiving and trims.",
    )
    parser.add_argument("--stream", required=True, help="the key of the stream")
    parser.add_argument(
        "--archive", metavar="PATH", help="the folder of the archive (default: memory only)"
    )
    add_storage_options(parser)
    add_url(parser)
    add_range(parser)
    add_allow_missing(parser)
    parser.add_argument(
        "--epochs",
        choices=EPOCH_CHOICES,
        default=ALL,
        help="if the stream's history has diverged, for example in a failover: all archived "
        "histories, or only the one that leads to the present stream (default: %(default)s)",
    )
    parser.add_argument(
        "--where",
        metavar="SQL",
        help="a condition in Spark's SQL, on stream, id, ms, seq, ts, epoch, fields (by name, as "
        "text: \"fields['carrier'] = 'UA'\"), raw (unchanged), and the typed columns of the "
        "archive",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="(default: %(default)s)")
    parser.add_argument(
        "--columns",
        type=lambda text: text.split(","),
        default=[],
        metavar="A,B",
        help="the fields or typed columns of the CSV (default: all typed columns, and one with "
        "all fields as JSON)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="(default: standard output)")
    parser.add_argument("--limit", type=from_one, metavar="N", help="the first N entries only")
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(with_relative_times(arguments))
    if options.format == "parquet" and options.output is None:
        parser.error("--format parquet needs --output FILE")
    if options.columns and options.format != "csv":
        parser.error("--columns goes with --format csv")
    if type(options.last) is type(options.first) and options.last < options.first:
        parser.error("--to is before --from")
    return options
