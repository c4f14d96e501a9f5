"""The arguments of `rillway check`; server/check does the work."""

from __future__ import annotations

import argparse

from rillway.command_line.parser import Parser

DESCRIPTION = """\
Inspect data files: append-only files, their manifests (with all files that they name), snapshots
(RDB). Shows their contents, and where they are broken. For a folder: its manifest, or the
append-only file if there is none, and its snapshots."""

EPILOG = """\
--fix asks before it cuts anything, and keeps the cut part in FILE.cut-OFFSET. --yes confirms only
the removal of an incomplete last request, as a crash leaves it. Stop the server first. Exit status:
0 sound, 1 broken, 2 wrong usage, 3 fixed."""


def make_parser() -> Parser:
    parser = Parser(
        "check",
        DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a file, or the folder of a server (its `dir`)"
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--fix", action="store_true", help="cut off the broken part, after asking")
    change.add_argument(
        "--truncate-to-timestamp",
        type=int,
        metavar="T",
        help="go back to a moment, in Unix seconds: cut the requests of later seconds off, in all "
        "files of a manifest; they are kept beside. It needs the times that the server writes with "
        "aof-timestamp-enabled yes",
    )
    parser.add_argument("--yes", action="store_true", help="with --fix: do not ask (see below)")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    return parser
