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
    """`10x`, or `10`."""
    return positive(text.strip().lower().removesuffix("x"))


def make_parser() -> Parser:
    parser = Parser(
        "replay",
        "Write entries of an archive to a stream, in order and each once. Started "
        "again with the same arguments, it goes on where it was.",
    )
    parser.add_argument(
        "--from-archive", required=True, metavar="PATH", help="the folder of the archive"
    )
    parser.add_argument("--stream", required=True, help="the stream that was archived")
    parser.add_argument("--into", required=True, metavar="STREAM", help="where the entries go")
    add_url(parser)
    add_storage_options(parser)
    add_range(parser)
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument(
        "--speed",
        type=factor,
        metavar="10x",
        help="keep the gaps between entries, 10 times as short",
    )
    pace.add_argument("--rate", type=positive, metavar="N", help="N entries a second")
    parser.add_argument(
        "--keep-ids",
        action="store_true",
        help="with their IDs: into a stream of its own only (default: the server makes new ones)",
    )
    parser.add_argument(
        "--epochs",
        choices=EPOCH_CHOICES,
        help="where the archived history has parted, in a failover for one: each epoch after the "
        "other, or what leads to the present one (default: all; current with --keep-ids)",
    )
    parser.add_argument(
        "--origin",
        action="store_true",
        help="add the fields _orig_stream and _orig_id to each entry",
    )
    parser.add_argument(
        "--append", action="store_true", help="write after what a stream has already"
    )
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(with_relative_times(arguments))
    if options.keep_ids and options.append:
        parser.error("--keep-ids needs a stream of its own: it does not go with --append")
    if options.keep_ids and options.epochs == ALL:
        parser.error("--keep-ids takes --epochs current: the IDs of all epochs do not ascend")
    options.epochs = options.epochs or (CURRENT if options.keep_ids else ALL)
    if type(options.last) is type(options.first) and options.last < options.first:
        parser.error("--to is before --from")
    return options
