"""Clocks of the process: Unix time, and monotonic time for waiting.

`now_ms` is the time of day: what is stored, shown, or expires at a time that a client named. It
jumps when the system's clock is set. `monotonic_ms` counts from an arbitrary origin and never
jumps: timeouts, pauses, intervals and ages of connections are measured by it. The two are never
compared: names that hold one do not hold the other (tests/server/test_clock.py).

`Dispatcher.start_batch` reads both once per batch. Connections, the dispatcher and script runs
read the system's clocks themselves: for them a call through this module would be too slow.
"""

from __future__ import annotations

from time import perf_counter_ns, time_ns
from typing import Protocol


class Clock(Protocol):
    """The two readings; this module has them, as has the environment of a server."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""

    def monotonic_ms(self) -> int:
        """Monotonic time in milliseconds."""


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time_ns() // 1_000_000


def now_us() -> int:
    """Unix time in microseconds."""
    return time_ns() // 1_000


def monotonic_ms() -> int:
    """Monotonic time in milliseconds, to wait; unaffected by changes of the system's clock."""
    return perf_counter_ns() // 1_000_000


def monotonic_us() -> int:
    """Monotonic time in microseconds, to measure durations."""
    return perf_counter_ns() // 1_000


def has_passed(interval_ms: int, since_ms: int, monotonic_ms: int) -> bool:
    """Return True if `interval_ms` have passed since `since_ms`, a monotonic time."""
    return monotonic_ms - since_ms >= interval_ms


def delay_us(directive: int, keys: int) -> int:
    """Return the delay after `keys` keys, by `key-load-delay` or `rdb-key-save-delay`."""
    return directive * keys if directive >= 0 else keys // -directive
