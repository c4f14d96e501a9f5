"""The arguments of `rillway sql`. Imports nothing that the extra rillway[sql] installs."""

from __future__ import annotations

import argparse
from pathlib import Path

from rillway.command_line.arguments import add_storage_options, add_url
from rillway.command_line.parser import Parser
from rillway.pipeline.archive.limits import ALL, EPOCH_CHOICES

FORMATS = ("table", "csv", "json", "parquet")


def make_parser() -> Parser:
    parser = Parser(
        "sql",
        "SQL over streams, by DuckDB: archive and memory as one table for each stream, with each "
        "entry exactly once, even during archiving and trims.",
    )
    parser.add_argument(
        "text",
        metavar="TEXT",
        help="a SELECT in DuckDB's SQL; a stream is a table of its name, with the columns stream, "
        "id, ms, seq, ts, epoch, the typed columns of the archive, fields (by name, as text: "
        "fields['carrier']) and raw (names and values, unchanged); files as 'rates.csv'",
    )
    parser.add_argument(
        "--archive", metavar="PATH", help="the folder of the archive (default: memory only)"
    )
    add_storage_options(parser)
    add_url(parser)
    parser.add_argument(
        "--epochs",
        choices=EPOCH_CHOICES,
        default=ALL,
        help="if a stream's history has diverged, for example in a failover: all archived "
        "histories, or only the one that leads to the present stream (default: %(default)s)",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="what DuckDB may use, such as 2GB; the rest goes to a temporary folder (default: 80 "
        "percent of the machine's)",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="(default: standard output)")
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.format == "parquet" and options.output is None:
        parser.error("--format parquet needs --output FILE")
    return options
