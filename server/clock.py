"""Time, read in one place."""

from __future__ import annotations

from time import time_ns


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time_ns() // 1_000_000


def now_us() -> int:
    """Unix time in microseconds."""
    return time_ns() // 1_000


def has_passed(interval_ms: int, since_ms: int, now_ms: int) -> bool:
    """Whether so much time has passed; also where the clock was set back meanwhile.

    What is done too early does less harm than what waits until an hour has come again.
    """
    return not 0 <= now_ms - since_ms < interval_ms
