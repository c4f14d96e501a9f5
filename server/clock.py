"""Clocks of the process: Unix time and elapsed time.

Commands get their time from `Dispatcher.start_batch`, which is given `now_ms` once per batch.
`elapsed_us` measures how long background work takes. Connections, the dispatcher and script runs
read the system's clocks themselves: for them a call through this module would be too slow.
"""

from __future__ import annotations

from time import perf_counter_ns, time_ns


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time_ns() // 1_000_000


def now_us() -> int:
    """Unix time in microseconds."""
    return time_ns() // 1_000


def elapsed_us() -> int:
    """Monotonic time in microseconds, to measure durations; unaffected by changes of the clock."""
    return perf_counter_ns() // 1000


def has_passed(interval_ms: int, since_ms: int, now_ms: int) -> bool:
    """Return True if `interval_ms` have passed since `since_ms`, or if the clock was set back.

    Acting too early does less harm than waiting until the clock has caught up.
    """
    return not 0 <= now_ms - since_ms < interval_ms


def delay_us(directive: int, keys: int) -> int:
    """Return the delay after `keys` keys, by `key-load-delay` or `rdb-key-save-delay`."""
    return directive * keys if directive >= 0 else keys // -directive
