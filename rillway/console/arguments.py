"""The arguments of `rillway console`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rillway.command_line.arguments import add_url, port
from rillway.command_line.parser import Parser

if TYPE_CHECKING:
    from rillway.console.access.users import Users

DEFAULT_PORT = 8001
ROLES = ("viewer", "operator", "admin")


def make_parser() -> Parser:
    parser = Parser(
        "console",
        "Streams, groups and pending entries of a Redis server in the browser.",
    )
    add_url(parser)
    parser.add_argument(
        "--bind",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen (default: %(default)s)",
    )
    parser.add_argument(
        "--port", type=port, default=DEFAULT_PORT, help="0 takes a free one (default: %(default)s)"
    )
    parser.add_argument("--read-only", action="store_true", help="allow no changes")
    parser.add_argument(
        "--password-file",
        dest="password",
        type=password_in,
        metavar="FILE",
        help="ask viewers for the password in the first line of this file",
    )
    parser.add_argument(
        "--users",
        type=users_in,
        metavar="FILE",
        help="ask viewers for a user and a password of this file; `rillway console user` writes it",
    )
    parser.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="believe X-Forwarded-User from this address: a user of --users; may be given again",
    )
    parser.add_argument(
        "--audit", metavar="FILE", help="append a line of JSON for each action of a viewer"
    )
    parser.add_argument("--tls-cert", type=existing, metavar="FILE", help="serve https")
    parser.add_argument("--tls-key", type=existing, metavar="FILE", help="the certificate's key")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name that browsers may use; may be given again",
    )
    parser.add_argument(
        "--dead-letters",
        action="append",
        default=[],
        type=dead_letters,
        metavar="STREAM=DEAD",
        help="where the dead letters of a stream are (default: STREAM:dead); may be given again",
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow an address other than loopback without TLS and a login",
    )
    return parser


def user_parser() -> Parser:
    """Return the parser of `rillway console user`."""
    parser = Parser(
        "console user",
        "Add a user of the console, or change one; the password is the first line of standard "
        "input.",
    )
    parser.add_argument("--users", required=True, type=Path, metavar="FILE", help="the file")
    parser.add_argument("--remove", action="store_true", help="remove the user")
    parser.add_argument("name", metavar="NAME", type=user_name, help="the user")
    parser.add_argument("role", nargs="?", choices=ROLES, help="what the user may do")
    return parser


JOBS = {"user": user_parser}


def user_name(text: str) -> str:
    if not re.fullmatch(r"[^:\s]{1,64}", text):
        raise argparse.ArgumentTypeError("expected up to 64 characters, no blank and no colon")
    return text


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if (options.tls_cert is None) != (options.tls_key is None):
        parser.error("--tls-cert and --tls-key go together")
    if options.users is not None and options.password is not None:
        parser.error("--users or --password-file, not both")
    if options.trusted_proxy and options.users is None:
        parser.error("--trusted-proxy needs --users")
    return options


def users_in(path: str) -> Users:
    from rillway.console.access.users import Users  # its dataclass takes a while to import

    try:
        return Users(path)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {error}") from None


def password_in(path: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not lines or not lines[0]:
        raise argparse.ArgumentTypeError(f"{path}: its first line is empty")
    return lines[0]


def existing(path: str) -> str:
    if not Path(path).is_file():
        raise argparse.ArgumentTypeError(f"{path}: there is no such file")
    return path


def dead_letters(text: str) -> tuple[bytes, bytes]:
    stream, equals, dead = text.partition("=")
    if not stream or not equals or not dead or stream == dead:
        raise argparse.ArgumentTypeError("expected STREAM=DEAD")
    return stream.encode(), dead.encode()
