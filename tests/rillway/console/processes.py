"""Consoles as processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def console(*words: str) -> Iterator[str]:
    """A console on a free port; its address. Raises AssertionError unless it ends with status 0."""
    command = [sys.executable, "-m", "rillway", "console", "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait(60)
    assert status == 0
