"""The arguments of `rillway replay`. Imports nothing that the extra rillway[archive] installs."""

from __future__ import annotations

import argparse

from rillway.command_line.arguments import (
    add_range,
    add_storage_options,
    add_url,
    positive,
    with_relative_times,
)
from rillway.command_line.parser import Parser
from rillway.pipeline.archive.limits import ALL, CURRENT, EPOCH_CHOICES


def factor(text: str) -> float:
    """Parse a factor: `10x` or `10`."""
    return positive(text.strip().lower().removesuffix("x"))


def make_parser() -> Parser:
    parser = Parser(
        "replay",
        "Write entries of an archive to a stream, in order and each once. Started "
        "again with the same arguments, it continues where it stopped.",
    )
    parser.add_argument(
        "--from-archive", required=True, metavar="PATH", help="the folder of the archive"
    )
    parser.add_argument("--stream", required=True, help="the stream that was archived")
    parser.add_argument("--into", required=True, metavar="STREAM", help="the stream to write to")
    add_url(parser)
    add_storage_options(parser)
    add_range(parser)
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument(
        "--speed",
        type=factor,
        metavar="10x",
        help="keep the gaps between entries, but 10 times shorter",
    )
    pace.add_argument("--rate", type=positive, metavar="N", help="N entries a second")
    parser.add_argument(
        "--keep-ids",
        action="store_true",
        help="keep the IDs; needs a stream that nothing else writes to (default: new IDs)",
    )
    parser.add_argument(
        "--epochs",
        choices=EPOCH_CHOICES,
        help="if the archived history has diverged, for example in a failover: all epochs in "
        "sequence, or the line of the current one (default: all; current with --keep-ids)",
    )
    parser.add_argument(
        "--origin",
        action="store_true",
        help="add the fields _orig_stream and _orig_id to each entry",
    )
    parser.add_argument(
        "--append", action="store_true", help="write after the entries that the stream has"
    )
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse arguments. Exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(with_relative_times(arguments))
    if options.keep_ids and options.append:
        parser.error("--keep-ids needs a stream of its own: it cannot be used with --append")
    if options.keep_ids and options.epochs == ALL:
        parser.error("--keep-ids takes --epochs current: the IDs of all epochs do not ascend")
    options.epochs = options.epochs or (CURRENT if options.keep_ids else ALL)
    if type(options.last) is type(options.first) and options.last < options.first:
        parser.error("--to is before --from")
    return options
