"""Time, read in one place."""

from __future__ import annotations

from time import perf_counter_ns, time_ns


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time_ns() // 1_000_000


def now_us() -> int:
    """Unix time in microseconds."""
    return time_ns() // 1_000


def elapsed_us() -> int:
    """Microseconds since some moment: to tell how long something took, whatever the time is."""
    return perf_counter_ns() // 1000


def has_passed(interval_ms: int, since_ms: int, now_ms: int) -> bool:
    """Whether so much time has passed; also where the clock was set back meanwhile.

    What is done too early does less harm than what waits until an hour has come again.
    """
    return not 0 <= now_ms - since_ms < interval_ms
