"""Time, read in one place."""

from __future__ import annotations

from time import time_ns


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time_ns() // 1_000_000


def now_us() -> int:
    """Unix time in microseconds."""
    return time_ns() // 1_000
