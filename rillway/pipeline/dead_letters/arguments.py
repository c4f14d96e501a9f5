"""The arguments of `rillway dead-letters`."""

from __future__ import annotations

import argparse

from rillway.command_line.arguments import add_url, duration, from_one, from_zero, interval
from rillway.command_line.parser import Parser


def make_parser() -> Parser:
    parser = Parser(
        "dead-letters",
        "Move entries that were delivered too often to another stream, with their "
        "history, and acknowledge them in the same transaction.",
    )
    parser.add_argument("--stream", required=True, help="the key of the stream")
    parser.add_argument(
        "--group", action="append", help="a group; may be given again (default: all groups)"
    )
    parser.add_argument(
        "--more-than",
        type=from_zero,
        metavar="K",
        help="entries that were delivered more than K times",
    )
    parser.add_argument(
        "--idle",
        type=duration,
        default=0.0,
        metavar="TIME",
        help="and were last delivered at least this long ago, such as 10m (default: any time)",
    )
    parser.add_argument("--to", metavar="STREAM", help="the stream of dead letters")
    parser.add_argument(
        "--partitions",
        type=from_one,
        metavar="N",
        help="instead of --to: all N partitions of the stream, each with its own dead letters: "
        "orders:dead:{3} for orders:{3}",
    )
    parser.add_argument(
        "--back",
        action="store_true",
        help="the reverse: send the dead letters in --to that came from --stream back to it",
    )
    parser.add_argument(
        "--drop-missing",
        action="store_true",
        help="acknowledge entries that were deleted or trimmed while they were pending",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show the entries without moving them"
    )
    parser.add_argument(
        "--every",
        type=interval,
        metavar="TIME",
        help="repeat every 5m, for example (default: run once)",
    )
    add_url(parser)
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse arguments. Exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if (options.to is None) == (options.partitions is None):
        parser.error("one of --to and --partitions is needed")
    if options.to == options.stream:
        parser.error("--to is the stream itself")
    if options.partitions is not None:
        from rillway.client.partitions import Partitions

        try:
            Partitions(options.stream, options.partitions)
        except ValueError as error:
            parser.error(f"--partitions: {error}")
    if options.back == (options.more_than is not None):
        parser.error("one of --more-than and --back is needed")
    if options.back and (options.dry_run or options.drop_missing or options.idle):
        parser.error("--idle, --dry-run and --drop-missing do not go with --back")
    return options
