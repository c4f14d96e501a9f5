"""`rillway top` while the demo runs: a process of its own, on the same terminal.

The producer does not draw: what it draws while a pipeline is out would be measured as latency.
What the demo has to say meanwhile is printed when the screen is closed, by q or at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from rillway.demo.report import Progress
from rillway.demo.service import IMPORT_ROOT

# Others claim what a killed consumer had before it is dead by top's own measure.
DEAD_AFTER = "1s"
STOP_SECONDS = 5.0


class ScreenProgress:
    """Progress that is top's screen; once it is closed, another one's, which is made then."""

    def __init__(self, url: str, make_other: Callable[[], Progress]) -> None:
        self._make_other = make_other
        self._other: Progress | None = None
        self._notes: list[str] = []
        words = [sys.executable, "-m", "rillway", "top", "--url", url, "--dead-after", DEAD_AFTER]
        self._top: subprocess.Popen[bytes] | None = subprocess.Popen(
            words, env=os.environ | {"PYTHONPATH": IMPORT_ROOT}
        )

    def update(self, sent: int, acknowledged: int) -> None:
        if self._top is not None and self._top.poll() is not None:
            self._close()
        if self._other is not None:
            self._other.update(sent, acknowledged)

    def note(self, text: str) -> None:
        if self._other is not None:
            self._other.note(text)
        else:
            self._notes.append(text)

    def close(self) -> None:
        """Give the terminal back."""
        if self._top is not None:
            self._top.terminate()
            self._wait()
        if self._other is not None:
            self._other.close()
        else:
            print("\n".join(self._notes), flush=True)

    def _close(self) -> None:
        """The user has closed the screen."""
        self._wait()
        self._other = self._make_other()
        for text in self._notes:
            self._other.note(text)

    def _wait(self) -> None:
        assert self._top is not None
        try:
            self._top.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._top.kill()
        self._top = None
