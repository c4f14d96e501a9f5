"""The first line of a script or library: `#!lua name=... flags=...`.

Source: observed with Redis 7.0.15; flags of 7.2 and later.
"""

from __future__ import annotations

import re

from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.requests import split_inline

_NAME = re.compile(rb"[A-Za-z0-9_]+")

FLAGS = (b"no-writes", b"allow-oom", b"allow-stale", b"no-cluster", b"allow-cross-slot-keys")


@frozen_record
class Script:
    """The source of a script of EVAL, as passed to Lua, and what its first line says."""

    source: bytes  # the first line is empty, so that the others keep their numbers
    flags: frozenset[bytes]
    has_shebang: bool


def parse_script(body: bytes) -> Script:
    """A script of EVAL. Raises ReplyError."""
    if not body.startswith(b"#!"):
        return Script(body, frozenset(), False)
    line, newline, rest = body.partition(b"\n")
    if not newline:
        raise ReplyError(b"ERR Invalid script shebang")
    words = line.split()
    if not words or words[0] != b"#!lua":
        raise ReplyError(b"ERR Unexpected engine in script shebang: %b" % (words or [b""])[0])
    flags: frozenset[bytes] = frozenset()
    for word in words[1:]:
        if not word.startswith(b"flags="):
            raise ReplyError(b"ERR Unknown lua shebang option: %b" % word)
        named = [flag for flag in word[len(b"flags=") :].split(b",") if flag]
        for flag in named:
            if flag not in FLAGS:
                raise ReplyError(b"ERR Unexpected flag in script shebang: %b" % flag)
        flags = flags.union(named)
    return Script(newline + rest, flags, True)


@frozen_record
class LibrarySource:
    """The source of a library, and what its first line says."""

    engine: bytes
    name: bytes
    source: bytes


def parse_library(code: bytes) -> LibrarySource:
    """A library's source. Raises ReplyError."""
    if not code.startswith(b"#!"):
        raise ReplyError(b"ERR Missing library metadata")
    line, newline, rest = code.partition(b"\n")
    words = split_inline(line) if newline else None
    if not words:
        raise ReplyError(b"ERR Invalid library metadata")
    name: bytes | None = None
    for word in words[1:]:
        if not word.lower().startswith(b"name="):
            raise ReplyError(b"ERR Invalid metadata value given: %b" % word)
        if name is not None:
            raise ReplyError(b"ERR Invalid metadata value, name argument was given multiple times")
        name = word[len(b"name=") :]
    if name is None:
        raise ReplyError(b"ERR Library name was not given")
    check_name(name)
    return LibrarySource(words[0][2:], name, newline + rest)


def check_name(name: bytes) -> None:
    """Raise ReplyError if it is not a valid name of a library or function."""
    if not _NAME.fullmatch(name):
        raise ReplyError(
            b"ERR Library names can only contain letters, numbers, or underscores(_) and must be"
            b" at least one character long"
        )
