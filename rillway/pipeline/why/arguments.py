"""The arguments of `rillway why`."""

from __future__ import annotations

import argparse

from rillway.command_line.arguments import add_url, interval
from rillway.command_line.parser import Parser


def make_parser() -> Parser:
    parser = Parser("why", "Why a consumer group is slow, or stuck, and what to do about it.")
    parser.add_argument("--stream", required=True, help="the stream")
    parser.add_argument("--group", required=True, help="the group")
    parser.add_argument(
        "--every",
        type=interval,
        default=1.0,
        metavar="TIME",
        help="the time between the two samples that rates come from (default: 1s)",
    )
    parser.add_argument("--json", action="store_true", help="one object, instead of lines")
    add_url(parser)
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    return make_parser().parse_args(arguments)
