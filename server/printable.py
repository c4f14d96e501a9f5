"""Text from files for people: escaped and cut off, whatever the file holds."""

from __future__ import annotations

LONGEST = 1000


def printable(text: str, longest: int = LONGEST) -> str:
    """The text on one line, with what a terminal would not show as escapes; at most `longest`."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text[:longest]
    )
    return shown if len(text) <= longest else f"{shown} ..."
