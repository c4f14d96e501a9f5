"""Colour on a terminal that has it: never in a file or a pipe, and not where NO_COLOR is set."""

from __future__ import annotations

import os
from typing import TextIO

CODES = {"red": "31", "green": "32", "yellow": "33"}


def has_colour(stream: TextIO) -> bool:
    """Return True if what is written to the stream may have colours (https://no-color.org)."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return not is_plain and stream.isatty()


def paint(text: str, colour: str, stream: TextIO) -> str:
    """The text in a colour, if the stream shows it."""
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if has_colour(stream) else text
