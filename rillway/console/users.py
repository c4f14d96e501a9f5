"""The users of a console (`--users FILE`): who they are, and what they may do.

A line of the file is `NAME:ROLE:SALT:HASH`, the last two in hexadecimal; the hash is scrypt's. The
file is read again when it has changed. `rillway console user` writes it.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import os
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from rillway.command_line.parser import Parser

# scrypt: 16 MiB and some 50 ms.
COST, BLOCK, LANES, HASH_BYTES = 1 << 14, 8, 1, 32
SALT_BYTES = 16
NAME = re.compile(r"[^:\s]{1,64}")


class Role(IntEnum):
    """A role has the rights of the lower ones."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class User:
    name: str
    role: Role
    salt: bytes
    hash: bytes

    def line(self) -> str:
        return f"{self.name}:{self.role.name.lower()}:{self.salt.hex()}:{self.hash.hex()}"


class Users:
    """The users in a file. Raises OSError, ValueError if it cannot be read or is malformed."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._users: Mapping[str, User] = {}
        self.read()

    def find(self, name: str | None) -> User | None:
        """Return a user as the file has it now; the last good state if it cannot be read."""
        try:
            self.read()
        except (OSError, ValueError) as error:
            print(f"rillway console: {self.path}: {error}", file=sys.stderr)
        return self._users.get(name or "")

    def check(self, name: str, password: str) -> bool:
        """Return whether the password is right, in the same time for a name that is unknown."""
        user = self.find(name)
        salt = user.salt if user is not None else b"\0" * SALT_BYTES
        given = hashed(password, salt)
        return user is not None and hmac.compare_digest(given, user.hash)

    def read(self) -> None:
        """Read the file, if it has changed."""
        found = self.path.stat()
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._users = read_users(self.path)
            self._seen = seen


def hashed(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=COST, r=BLOCK, p=LANES, dklen=HASH_BYTES)


def read_users(path: Path) -> dict[str, User]:
    """Return the users of a file by name. Raises OSError, ValueError with the line's number."""
    users = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, role, salt, found = line.split(":")
            users[name] = User(name, Role[role.upper()], bytes.fromhex(salt), bytes.fromhex(found))
        except (ValueError, KeyError):
            raise ValueError(f"line {number} is not NAME:ROLE:SALT:HASH") from None
    return users


def write_users(path: Path, users: Mapping[str, User]) -> None:
    """Replace the file, which only its owner may read. Raises OSError."""
    new = path.with_name(f".{path.name}.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.writelines(f"{user.line()}\n" for user in users.values())
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


# -- rillway console user --------------------------------------------------------------------------


def make_parser() -> Parser:
    parser = Parser(
        "console user",
        "Add a user of the console, or change one; the password is the first line of standard "
        "input.",
    )
    parser.add_argument("--users", required=True, type=Path, metavar="FILE", help="the file")
    parser.add_argument("--remove", action="store_true", help="remove the user")
    parser.add_argument("name", metavar="NAME", type=user_name, help="the user")
    parser.add_argument(
        "role", nargs="?", choices=[one.name.lower() for one in Role], help="what the user may do"
    )
    return parser


def user_name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError("expected up to 64 characters, no blank and no colon")
    return text


def main(arguments: list[str]) -> int:
    """Change the file of users. Returns the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.remove == (options.role is not None):
        parser.error("expected a role, or --remove")
    try:
        users = read_users(options.users) if options.users.exists() else {}
        if options.remove:
            if users.pop(options.name, None) is None:
                return failed(f"{options.users}: there is no user {options.name}")
        else:
            password = sys.stdin.readline().rstrip("\n")
            if not password:
                return failed("standard input has no password in its first line")
            salt = secrets.token_bytes(SALT_BYTES)
            role = Role[options.role.upper()]
            users[options.name] = User(options.name, role, salt, hashed(password, salt))
        write_users(options.users, users)
    except (OSError, ValueError) as error:
        return failed(f"{options.users}: {error}")
    return 0


def failed(text: str) -> int:
    print(f"rillway console user: {text}", file=sys.stderr)
    return 1
