"""Text from files for people: escaped and cut off, whatever the file holds."""

from __future__ import annotations

LONGEST = 1000


def printable(text: str, longest: int = LONGEST) -> str:
    """The text on one line, with what a terminal would not show as escapes; at most `longest`.

    Bytes that are not UTF-8 are surrogates in it, as `surrogateescape` makes them.
    """
    shown = "".join(char if char.isprintable() else _escaped(char) for char in text[:longest])
    return shown if len(text) <= longest else f"{shown} ..."


def _escaped(char: str) -> str:
    r"""`\n`, `\x1b`: the bytes of a character."""
    return repr(char.encode("utf-8", "surrogateescape"))[2:-1]
