"""The first line of a script or library: `#!lua name=... flags=...`.

Source: Redis 7.0.15, tried out; flags of 7.2 and later.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.errors import ReplyError

FLAGS = frozenset({b"no-writes", b"allow-oom", b"allow-stale", b"no-cluster",
                   b"allow-cross-slot-keys"})  # fmt: skip


@dataclass(frozen=True)
class Script:
    """The source of a script of EVAL, as Lua is given it, and what its first line says."""

    source: bytes  # without the text of the first line: the others keep their numbers
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
