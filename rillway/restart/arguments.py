"""The arguments of `rillway restart`."""

from __future__ import annotations

import argparse

from rillway.command_line.arguments import interval, server_url
from rillway.command_line.parser import Parser


def make_parser() -> Parser:
    parser = Parser(
        "restart",
        "Restart a primary that Sentinel watches: Sentinel moves its role to a replica first. Then "
        "COMMAND restarts the server, and must bring it back as a replica in step; without COMMAND "
        "it is for you to restart. In COMMAND, {host} and {port} stand for the server's.",
        usage="rillway restart --sentinel URL [OPTION ...] [-- COMMAND ...]",
        epilog="The variable REDISCLI_AUTH has the password of the servers, if there is one; that "
        "of Sentinel belongs in its URL. Servers use TLS and its options if the URL of Sentinel "
        "does.",
    )
    parser.add_argument(
        "--sentinel",
        type=server_url,
        required=True,
        metavar="URL",
        help="one of the Sentinels: redis://HOST:26379",
    )
    parser.add_argument(
        "--name", default="mymaster", help="Sentinel's name of the primary (default: %(default)s)"
    )
    parser.add_argument("--user", help="the user whose password REDISCLI_AUTH has")
    parser.add_argument(
        "--timeout",
        type=interval,
        default="3m",
        metavar="TIME",
        help="the longest time for each step (default: %(default)s)",
    )
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong.

    `options.command`: the words after `--`.
    """
    place = arguments.index("--") if "--" in arguments else len(arguments)
    parser = make_parser()
    options = parser.parse_args(arguments[:place])
    options.command = arguments[place + 1 :]
    if place < len(arguments) and not options.command:
        parser.error("expected a command after --")
    return options
