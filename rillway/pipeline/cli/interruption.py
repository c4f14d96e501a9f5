"""Handles SIGINT, SIGTERM and SIGHUP in a long command: finish the current step, then end.

The first signal is recorded; the command checks for it where it can stop, and can be started again
there. A second signal ends it at once. SIGHUP stays ignored under nohup.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A signal asked to stop."""


class Interruption:
    """A context manager that records signals; for the main thread only."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._came = threading.Event()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = number
        self._came.set()

    @property
    def requested(self) -> bool:
        return self.received is not None

    @property
    def exit_status(self) -> int:
        """The exit status that a shell expects after a signal, 130 for Ctrl-C; 0 if none came."""
        return 0 if self.received is None else 128 + self.received

    def check(self) -> None:
        """Raises Interrupted if a signal has come."""
        if self.requested:
            raise Interrupted

    def wait(self, seconds: float) -> bool:
        """Sleep, but at most until a signal comes. Return True if one has."""
        return self._came.wait(seconds)
