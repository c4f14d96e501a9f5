"""The arguments of `rillway restore`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rillway.command_line.arguments import add_storage_options
from rillway.command_line.parser import Parser
from rillway.pipeline.wire.quantities import parse_time

EPILOG = """\
FROM is a back-up, or the place of several: then its newest one. --check needs the disk space and
the memory of the copy for as long as it runs. Exit status: 0 done, 1 failed or something was found,
2 wrong usage."""


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.to is not None and options.check:
        parser.error("--to goes with --dir, not with --check")
    return options


def make_parser() -> Parser:
    parser = Parser(
        "restore",
        "Write the files of a back-up to a new folder, and say how a server is started on them; or "
        "check that one does.",
        epilog=EPILOG,
    )
    parser.add_argument("source", metavar="FROM", help="a folder, or s3://BUCKET/PREFIX")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--dir", type=Path, metavar="NEW", help="the folder to write, new or empty; of a cluster "
        "it gets a folder for each node",
    )  # fmt: skip
    action.add_argument(
        "--check",
        action="store_true",
        help="compare all files with their digests, start the copy on a Unix socket, and compare "
        "its keys with the back-up's; a line for each finding",
    )
    parser.add_argument(
        "--to",
        type=_moment,
        metavar="TIME",
        help="go back to a moment before the back-up: 2026-11-24T14:03:00Z; what was written in "
        "that second stays. It needs aof-timestamp-enabled yes, and for moments before the last "
        "rewrite aof-keep-increments",
    )
    add_storage_options(parser)
    return parser


def _moment(text: str) -> int:
    """Unix ms of a time."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
