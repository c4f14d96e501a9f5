"""The users of a console (`--users FILE`): who they are, and what they may do.

A line of the file is `NAME:ROLE:SALT:HASH`, the last two in hexadecimal; the hash is scrypt's. The
file is read again when it has changed. `rillway console user` writes it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

# scrypt: 16 MiB and some 50 ms.
COST, BLOCK, LANES, HASH_BYTES = 1 << 14, 8, 1, 32
SALT_BYTES = 16


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

    def check(self, name: str, password: str) -> User | None:
        """Return the user if the password is right, in the same time for an unknown name."""
        user = self.find(name)
        salt = user.salt if user is not None else b"\0" * SALT_BYTES
        given = hashed(password, salt)
        is_right = user is not None and hmac.compare_digest(given, user.hash)
        return user if is_right else None

    def read(self) -> None:
        """Read the file, if it has changed."""
        found = self.path.stat()
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._users = read_users(self.path)
            self._seen = seen


def make_user(name: str, role: Role, password: str) -> User:
    """Return a user with a new salt."""
    salt = os.urandom(SALT_BYTES)
    return User(name, role, salt, hashed(password, salt))


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
