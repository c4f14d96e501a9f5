"""Waits for what another process, or a thread, brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

POLL_SECONDS = 0.005


def until(
    holds: Callable[[], object], what: object = "it never came true", *, seconds: float = 30.0
) -> None:
    """Return once `holds()` is true; fail with `what` if that takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(POLL_SECONDS)
