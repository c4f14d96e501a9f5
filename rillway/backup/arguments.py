"""The arguments of `rillway backup`."""

from __future__ import annotations

import argparse

from rillway.backup.retention import Term, parse_keep
from rillway.command_line.arguments import add_storage_options, add_url
from rillway.command_line.parser import Parser

EPILOG = """\
On the server's own machine, a Rillway with an append-only file is copied as files: bases are
linked, increments copied. Anything else sends a snapshot, as to a replica. Each back-up is a folder
of its own, named by its time; its backup.json comes last, so one that was interrupted is known, and
refused. The user needs +backup +info +psync +replconf (and +cluster|nodes, +config|get and
+acl|list). Exit status: 0 done, 1 failed, 2 wrong usage."""


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    return make_parser().parse_args(arguments)


def make_parser() -> Parser:
    parser = Parser(
        "backup",
        "Make a consistent copy of a running server: of its append-only file, or a snapshot, and "
        "of its ACL file. What was acknowledged before it began is in it.",
        epilog=EPILOG,
    )
    add_url(parser)
    add_place(parser)
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="all primaries of the cluster in one back-up, each with its own moment",
    )
    parser.add_argument(
        "--incremental",
        action="store_true",
        help="take what has not changed from the last back-up in the same place, and write only "
        "what is new; a snapshot is always whole",
    )
    parser.add_argument(
        "--snapshot",
        action="store_true",
        help="send a snapshot, also if the files are at hand",
    )
    parser.add_argument(
        "--keep",
        type=_keep,
        metavar="TIMES",
        help="then remove others: 7d,4w keeps all of the last seven days and the last one of each "
        "week for four weeks, and always the newest and the last one that was checked",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    return parser


def add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to",
        required=True,
        metavar="DIR",
        help="the folder of the back-ups, or s3://BUCKET/PREFIX (also gs://, abfss://)",
    )
    add_storage_options(parser)


def _keep(text: str) -> list[Term]:
    try:
        return parse_keep(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
