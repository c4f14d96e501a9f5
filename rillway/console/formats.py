"""Formats figures, times, keys and values for pages. Unknown figures are a dash."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote, unquote_to_bytes

from rillway import text

UNKNOWN = "–"
# A lag that the server does not know is not a lag of 0.
UNKNOWN_LAG = "?"
POINTS = 60


def count(number: float | None, unknown: str = UNKNOWN) -> str:
    return text.short_count(number, unknown)


def rate(per_s: float | None, is_estimate: bool = False) -> str:
    if per_s is None:
        return UNKNOWN
    shown = f"{per_s:.1f}" if 0 < per_s < 10 else count(per_s)
    return f"~{shown}" if is_estimate else shown


def size(number: float | None) -> str:
    return text.size(number, UNKNOWN)


def duration(ms: float | None) -> str:
    return text.duration(ms, UNKNOWN)


def microseconds(us: float | None) -> str:
    if us is None:
        return UNKNOWN
    return f"{us:,.0f} µs" if us < 10_000 else f"{us / 1000:,.0f} ms"


def clock_time(ms: int | None) -> str:
    """Return date and time in UTC, with milliseconds."""
    if ms is None or not 0 <= ms < 253_402_300_800_000:
        return UNKNOWN
    when = datetime.fromtimestamp(ms / 1000, UTC)
    return when.strftime("%Y-%m-%d %H:%M:%S.") + f"{ms % 1000:03d}"


def time_of_day(seconds: float) -> str:
    """Return the time of day of a Unix time, in UTC: 12:00:05."""
    return clock_time(round(seconds * 1000))[11:19]


def points(values: list[float | None], width: int = 100, height: int = 20) -> str:
    """Return the points of a sparkline, an SVG polyline: up to POINTS, the peak of each stretch."""
    peaks = stretched(values)
    known = [value for value in peaks if value is not None]
    if len(known) < 2:
        return ""
    top = max(known) or 1
    step = width / (len(peaks) - 1)
    return " ".join(
        f"{number * step:.4g},{height - 1 - value / top * (height - 2):.3g}"
        for number, value in enumerate(peaks)
        if value is not None
    )


def stretched(values: list[float | None]) -> list[float | None]:
    """Return the peak of each stretch. Points are few: pages get all sparklines once a second."""
    length = -(-len(values) // POINTS)
    stretches = (values[start : start + length] for start in range(0, len(values), length or 1))
    return [max((one for one in part if one is not None), default=None) for part in stretches]


SHOWN_BYTES = 2048
# Cannot be the encoding of another name: in names a plus becomes %2B.
DOTS = {b".": "+.", b"..": "+.."}
SEGMENTS = {segment: name for name, segment in DOTS.items()}


def to_path(name: bytes) -> str:
    """Return a segment of a path: percent-encoded bytes. Browsers would resolve `.` and `..`."""
    return DOTS.get(name) or quote(name, safe="")


def from_path(segment: str) -> bytes:
    return SEGMENTS.get(segment) or unquote_to_bytes(segment)


def to_text(data: bytes) -> str:
    """Return one line of text; bytes that are not UTF-8 and control characters as `\\x1b`."""
    text = data.decode(errors="backslashreplace")
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def cut(data: bytes, limit: int = SHOWN_BYTES) -> bytes:
    """Cut to at most `limit` bytes, without half a character at the end."""
    if len(data) <= limit:
        return data
    end = limit
    while end > limit - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]
