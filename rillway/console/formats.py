"""Figures as words: counts, rates, durations, sizes, times. What is unknown is a dash."""

from __future__ import annotations

from datetime import UTC, datetime

UNKNOWN = "–"
# Lag that the server cannot work out is no lag of 0.
UNKNOWN_LAG = "?"
POINTS = 60


def count(number: float | None, unknown: str = UNKNOWN) -> str:
    """1,204; 12.4k; 1.2M; 3.0G."""
    if number is None:
        return unknown
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= factor:
            scale = 1e3 if unit == "k" else factor
            return f"{number / scale:.1f}{unit}"
    return f"{number:,.0f}"


def rate(per_s: float | None, is_estimate: bool = False) -> str:
    if per_s is None:
        return UNKNOWN
    text = f"{per_s:.1f}" if 0 < per_s < 10 else count(per_s)
    return f"~{text}" if is_estimate else text


def size(number: int | None) -> str:
    """870 B, 14.1 MB."""
    if number is None:
        return UNKNOWN
    value = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"


def duration(ms: float | None) -> str:
    """0.2 s, 41 s, 2 m 4 s, 3 h 10 m, 5 d 2 h."""
    if ms is None:
        return UNKNOWN
    seconds = ms / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} m"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def microseconds(us: float | None) -> str:
    if us is None:
        return UNKNOWN
    return f"{us:,.0f} µs" if us < 10_000 else f"{us / 1000:,.0f} ms"


def clock_time(ms: int | None) -> str:
    """The time of day in UTC, with milliseconds; the date as well if it is no time of today."""
    if ms is None or not 0 <= ms < 253_402_300_800_000:
        return UNKNOWN
    when = datetime.fromtimestamp(ms / 1000, UTC)
    return when.strftime("%Y-%m-%d %H:%M:%S.") + f"{ms % 1000:03d}"


def time_of_day(seconds: float) -> str:
    """Of a Unix time, in UTC: 12:00:05."""
    return clock_time(round(seconds * 1000))[11:19]


def points(values: list[float | None], width: int = 100, height: int = 20) -> str:
    """The points of a sparkline, an SVG polyline of this size: peaks of up to POINTS stretches."""
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
    """The largest value of each stretch; a page gets all sparklines once a second."""
    length = -(-len(values) // POINTS)
    stretches = (values[start : start + length] for start in range(0, len(values), length or 1))
    return [max((one for one in part if one is not None), default=None) for part in stretches]
