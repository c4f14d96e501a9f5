"""`rillway top` while a demo runs: a process of its own, on the same terminal.

A demo does not draw by itself: what it draws while a pipeline is out would count as latency.
"""

from __future__ import annotations

import os
import subprocess
import sys

from rillway.demo.service import IMPORT_ROOT

STOP_SECONDS = 5.0


class Screen:
    """The screen of `rillway top` with `options`, until q is pressed or it is closed."""

    def __init__(self, url: str, *options: str) -> None:
        words = [sys.executable, "-m", "rillway", "top", "--url", url, *options]
        self._top = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": IMPORT_ROOT})

    @property
    def is_open(self) -> bool:
        return self._top.poll() is None

    def close(self) -> None:
        """Give the terminal back."""
        self._top.terminate()
        try:
            self._top.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._top.kill()
            self._top.wait()
