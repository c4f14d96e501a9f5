"""Keys, names and values in URLs and as text. All of them are bytes of any kind."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

SHOWN_BYTES = 2048
# No name is encoded like this: a plus is %2B.
DOTS = {b".": "+.", b"..": "+.."}
SEGMENTS = {segment: name for name, segment in DOTS.items()}


def to_path(name: bytes) -> str:
    """A segment of a path: percent-encoded bytes. Browsers would resolve `.` and `..`."""
    return DOTS.get(name) or quote(name, safe="")


def from_path(segment: str) -> bytes:
    return SEGMENTS.get(segment) or unquote_to_bytes(segment)


def to_text(data: bytes) -> str:
    """One line for people: what is no UTF-8, and control characters, as `\\x1b`."""
    text = data.decode(errors="backslashreplace")
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def cut(data: bytes, limit: int = SHOWN_BYTES) -> bytes:
    """At most `limit` bytes, without half a character at the end."""
    if len(data) <= limit:
        return data
    end = limit
    while end > limit - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]
