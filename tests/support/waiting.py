"""Waits for what another process, or a thread, brings about."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

POLL_SECONDS = 0.01


def until(
    holds: Callable[[], object], what: object = "it never came true", *, seconds: float = 30.0
) -> None:
    """Return once `holds()` is true; fail with `what` if that takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(POLL_SECONDS)


@contextmanager
def interrupted_once(
    holds: Callable[[str], object], *, seconds: float = 30.0
) -> Iterator[Callable[[], str]]:
    """Send this process SIGINT once `holds` is true of what it prints, and after `seconds` anyway.

    The block has to handle the signal. Yields what returns all that was printed, errors included.
    """
    printed, is_over = io.StringIO(), threading.Event()
    deadline = time.monotonic() + seconds

    def interrupt() -> None:
        while not is_over.wait(POLL_SECONDS):
            if holds(printed.getvalue()) or time.monotonic() > deadline:
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            yield printed.getvalue
    finally:
        is_over.set()
        thread.join()
