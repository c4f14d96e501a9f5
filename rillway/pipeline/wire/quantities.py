"""Times, durations and sizes as users write them: 2026-01-31T12:00Z, 10m, 32 MiB."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from rillway.pipeline.wire.ids import MAX_SEQ


def parse_time(text: str) -> int:
    """Parse Unix ms, or an ISO 8601 date or time, in UTC without a zone. Raises ValueError."""
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
    # In whole numbers: as a float, seconds lose milliseconds.
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
    """Return the seconds of `90s`, `5m`, `1.5h`, `250ms`, `2d`, and of 0. Raises ValueError.

    Any other number without a unit is refused: it could mean seconds or milliseconds.
    """
    found = DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"expected a time with a unit (ms, s, m, h, d), such as 60s; not {text!r}")
    if found[2] is None and float(found[1]):
        number = found[1]
        raise ValueError(
            f"expected a time with a unit, such as {number}s, {number}ms or {number}m; not {text!r}"
        )
    return float(found[1]) * UNIT_SECONDS[found[2] or "s"]


SIZE = re.compile(r"(\d+)\s*(?:([kmg])(?:i?b)?|b)?")
UNIT_BYTES = {None: 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_bytes(text: str) -> int:
    """Return the bytes of `64mb`, `64MiB` or, as Spark writes it, `64m`. Raises ValueError.

    A number without a unit is in bytes, which suits options that are named so.
    """
    found = SIZE.fullmatch(text.strip().lower())
    if found is None or int(found[1]) < 1:
        raise ValueError(f"expected a size with a unit, such as 1gb; not {text!r}")
    return int(found[1]) * UNIT_BYTES[found[2]]
