"""Text in cells of a terminal: made safe, cut, padded; sparklines.

Any client may write names and values. Characters that move the cursor, set colours or change the
direction of writing are shown as escapes, `\\x1b`, and never printed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

# Control and format characters, surrogates, private use, separators of lines and paragraphs.
UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# They are drawn over the character before them.
_MARKS = {"Mn", "Me"}
BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.:-=+*#"


def safe(name: bytes | str) -> str:
    """Return the text, with control and format characters as escapes."""
    text = name if isinstance(name, str) else name.decode(errors="backslashreplace")
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_safe_character, text))


def _safe_character(character: str) -> str:
    if unicodedata.category(character) not in UNSAFE:
        return character
    return character.encode("unicode_escape").decode()


def width(text: str) -> int:
    """Return the number of cells of a text."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in _MARKS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, cells: int) -> str:
    """Cut a text to a number of cells; `~` marks the cut."""
    if width(text) <= cells:
        return text
    kept, left = [], cells - 1
    for character in text:
        left -= _cells(character)
        if left < 0:
            break
        kept.append(character)
    return "".join(kept) + "~" if cells > 0 else ""


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """Pad or cut a text to a number of cells; `right` aligns it to the right."""
    text = cut(text, cells)
    blanks = " " * (cells - width(text))
    return blanks + text if right else text + blanks


def latency(us: int | None) -> str:
    """Return `2 us`, `14 ms`, `1.2 s`."""
    if us is None:
        return "-"
    if us < 1000:
        return f"{us} us"
    return f"{us / 1000:.0f} ms" if us < 999_500 else f"{us / 1_000_000:.1f} s"


def sparkline(values: Sequence[int | None], *, ascii_only: bool) -> str:
    """Return a bar for each value, from 0 to the largest; a blank for None."""
    bars = ASCII_BARS if ascii_only else BARS
    most = max((value for value in values if value is not None), default=0)
    steps = len(bars) - 1
    return "".join(
        " " if value is None else bars[0] if not most else bars[-(-value * steps // most)]
        for value in values
    )


# -- lines ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line. `style`: a name of terminal.STYLES, or none."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the screen, of one or more pieces."""

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, text: str, style: str = "") -> Line:
        return cls((Span(text, style),))

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    def fit(self, cells: int) -> Line:
        """Return the line with exactly this number of cells."""
        spans, left = [], cells
        for span in self.spans:
            text = cut(span.text, left)
            spans.append(Span(text, span.style))
            left -= width(text)
        last = self.spans[-1].style if self.spans and self.spans[-1].style == "selected" else ""
        return Line((*spans, Span(" " * left, last)))

    def then(self, *others: Line) -> Line:
        """Return this line followed by others."""
        return Line(self.spans + tuple(span for one in others for span in one.spans))
