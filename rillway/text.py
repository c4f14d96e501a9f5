"""Figures as text: durations, sizes, counts, tables.

There are two notations: a long one for sentences and pages, `2 min 5 s` and `14.1 MB`, and a short
one for columns, `2m05s` and `14.1M`. An unknown figure, None, is a dash.
"""

from __future__ import annotations

from collections.abc import Sequence

UNKNOWN = "-"
# The units of the long notation, each with its multiple of the previous one.
TIME_UNITS = (("s", 1), ("min", 60), ("h", 60), ("d", 24))
BYTE_UNITS = ("B", "KB", "MB", "GB", "TB")
SCALES = ("", "k", "M", "G", "T")


# -- the long notation ----------------------------------------------------------------------------


def duration(ms: float | None, unknown: str = UNKNOWN) -> str:
    """A duration: `0.4 s`, `13 s`, `2 min 5 s`, `1 h`, `9 d 4 h`."""
    if ms is None:
        return unknown
    if ms < 9_950:
        return f"{ms / 1000:.1f} s"
    whole, rest, smaller = round(ms / 1000), 0, ""
    unit = "s"
    for larger, factor in TIME_UNITS[1:]:
        if whole < factor:
            break
        whole, rest = divmod(whole, factor)
        smaller, unit = unit, larger
    return f"{whole} {unit}" + (f" {rest} {smaller}" if rest else "")


def size(number: float | None, unknown: str = UNKNOWN) -> str:
    """A size: `870 B`, `14.1 MB`."""
    if number is None:
        return unknown
    unit = 0
    while number >= 1024 and unit < len(BYTE_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.{1 if unit else 0}f} {BYTE_UNITS[unit]}"


# -- the short notation ---------------------------------------------------------------------------


def short_duration(ms: float | None) -> str:
    """A duration: `0.2s`, `41.0s`, `2m04s`, `3h12m`, `3d04h`."""
    if ms is None:
        return UNKNOWN
    seconds = ms / 1000
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02}h" if days < 100 else f"{days}d"


def short_size(number: float | None) -> str:
    """A size in bytes: `512`, `14.1M`."""
    return UNKNOWN if number is None else _scaled(number, 1024)


def short_count(number: float | None, unknown: str = UNKNOWN) -> str:
    """A number: `0`, `9,999`, `88.0k`, `1.2M`."""
    if number is None:
        return unknown
    number = round(number)
    return f"{number:,}" if number < 10_000 else _scaled(number, 1000)


def _scaled(number: float, base: int) -> str:
    for unit in SCALES[:-1]:
        if number < (base if unit == "" else base - 0.5):
            digits = 0 if unit == "" or number >= 99.95 else 1
            return f"{number:.{digits}f}{unit}"
        number /= base
    return f"{number:.1f}{SCALES[-1]}"


# -- tables ---------------------------------------------------------------------------------------


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
