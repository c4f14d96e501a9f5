"""Times, durations and sizes as users write them: 2026-01-31T12:00Z, 10m, 32 MiB."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from rillway.pipeline.client.ids import MAX_SEQ


def parse_time(text: str) -> int:
    """Unix ms, or a date or time in ISO 8601; without a zone it is UTC."""
    text = text.strip()
    if text.isdecimal():
        return _within_64_bits(int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"expected Unix milliseconds or a time such as 2026-01-31T12:00:00Z, not {text!r}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    # In whole numbers: seconds as a float lose milliseconds.
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    ms = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    if ms < 0:
        raise ValueError("no entry is older than 1970")
    return ms


def _within_64_bits(ms: int) -> int:
    if ms > MAX_SEQ:
        raise ValueError("expected at most 64 bits")
    return ms


DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def parse_duration(text: str) -> float:
    """Seconds of `90`, `90s`, `5m`, `1.5h`, `250ms`, `2d`. Raises ValueError."""
    found = DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"expected a duration such as 90s, 5m or 1h, not {text!r}")
    return float(found[1]) * UNIT_SECONDS[found[2] or "s"]


def parse_duration_with_unit(text: str) -> float:
    """The same, but a bare number is refused: it might be meant as ms. Raises ValueError."""
    if text.strip().replace(".", "", 1).isdecimal():
        raise ValueError(f"expected a duration with its unit, such as {text}s or {text}ms")
    return parse_duration(text)


SIZE = re.compile(r"(\d+)\s*([kmg]?)i?b?")
UNIT_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_bytes(text: str) -> int:
    """`64m` is 64 MiB, as with Spark's own sizes. Raises ValueError."""
    found = SIZE.fullmatch(text.strip().lower())
    if found is None or int(found[1]) < 1:
        raise ValueError(f"expected a size such as 1000000, 64m or 1g, not {text!r}")
    return int(found[1]) * UNIT_BYTES[found[2]]
