"""Polling until a condition holds or a deadline has passed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")

PAUSE_S = 0.02


class Clock(Protocol):
    """The part of the module `time` that a poll needs."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


def poll(
    until: Callable[[], T], seconds: float, *, pause_s: float = PAUSE_S, clock: Clock = time
) -> T:
    """Call `until` until it returns a true value or `seconds` have passed; return the last value.

    It is called at least once, and once more after the deadline.
    """
    deadline = clock.monotonic() + seconds
    while True:
        is_last = clock.monotonic() > deadline
        found = until()
        if found or is_last:
            return found
        clock.sleep(pause_s)
