"""Tables for a terminal. Without rich: `lag` and `dead-letters` need no extra."""

from __future__ import annotations

from collections.abc import Sequence

UNKNOWN = "-"


def text_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; numbers to the right, with separators. None is `-`."""
    cells = [[_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    numeric = [
        all(cell is None or isinstance(cell, int | float) for cell in column)
        for column in zip(*rows, strict=True)
    ] or [False] * len(headings)

    def line(texts: Sequence[str]) -> str:
        aligned = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, numeric, strict=True)
        ]
        return "  ".join(aligned).rstrip()

    rule = line(["-" * width for width in widths])
    return "\n".join([line(headings), rule, *map(line, cells)])


def _text(cell: object) -> str:
    if cell is None:
        return UNKNOWN
    if isinstance(cell, float):
        return f"{cell:,.1f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
