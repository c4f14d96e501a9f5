"""Progress of the demo: on a terminal `rillway top`, then bars; otherwise lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from rillway.demo.service import Screen
from rillway.top.command import is_terminal

LINE_EVERY_SECONDS = 2.0
BAR_EVERY_SECONDS = 0.2
# Below top's default: others claim a killed consumer's entries before that.
DEAD_AFTER = "1s"


class DemoProgress(Protocol):
    """Progress of the demo. `update` may be called often; it draws only from time to time."""

    def update(self, sent: int, acknowledged: int) -> None: ...

    def note(self, text: str) -> None: ...

    def close(self) -> None: ...


class LineProgress:
    """A line every two seconds: for logs, and if rich is not installed."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.next_line = 0.0

    def update(self, sent: int, acknowledged: int) -> None:
        if time.monotonic() >= self.next_line:
            self.next_line = time.monotonic() + LINE_EVERY_SECONDS
            self.note(f"{sent:>9,} sent  {acknowledged:>9,} acknowledged  of {self.total:,}")

    def note(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None:
        pass


class BarProgress:
    """Two bars on a terminal, drawn by rich.

    Drawn from `update`, not from a thread of rich's own: one that draws while a pipeline is sent
    would be measured as latency.
    """

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self.bars = Bars(
            TextColumn("{task.description:<12}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            auto_refresh=False,
        )
        self.sent = self.bars.add_task("sent", total=total)
        self.acknowledged = self.bars.add_task("acknowledged", total=total)
        self.next_draw = 0.0
        self.bars.start()

    def update(self, sent: int, acknowledged: int) -> None:
        if time.monotonic() >= self.next_draw:
            self.next_draw = time.monotonic() + BAR_EVERY_SECONDS
            self.bars.update(self.sent, completed=sent)
            self.bars.update(self.acknowledged, completed=acknowledged)
            self.bars.refresh()

    def note(self, text: str) -> None:
        self.bars.console.print(text, highlight=False)

    def close(self) -> None:
        self.bars.refresh()
        self.bars.stop()


def make_bars(total: int) -> DemoProgress:
    if sys.stdout.isatty():
        try:
            return BarProgress(total)
        except ImportError:
            pass
    return LineProgress(total)


class ScreenProgress:
    """Progress on the screen of `rillway top`, and in bars or lines after it is closed.

    Messages are printed when the screen is closed, by q or at the end.
    """

    def __init__(self, url: str, make_other: Callable[[], DemoProgress]) -> None:
        self._make_other = make_other
        self._other: DemoProgress | None = None
        self._notes: list[str] = []
        self._screen = Screen(url, "--dead-after", DEAD_AFTER)

    def update(self, sent: int, acknowledged: int) -> None:
        if self._other is None and not self._screen.is_open:
            self._other = self._make_other()
            for text in self._notes:
                self._other.note(text)
        if self._other is not None:
            self._other.update(sent, acknowledged)

    def note(self, text: str) -> None:
        if self._other is not None:
            self._other.note(text)
        else:
            self._notes.append(text)

    def close(self) -> None:
        """Close the screen, which restores the terminal."""
        self._screen.close()
        if self._other is not None:
            self._other.close()
        else:
            print("\n".join(self._notes), flush=True)


def make_progress(url: str, total: int) -> DemoProgress:
    """Return a display: `rillway top` on a terminal, lines elsewhere."""
    if not is_terminal():
        return make_bars(total)
    print("rillway top shows it; q closes the screen, and the demo goes on", flush=True)
    return ScreenProgress(url, partial(make_bars, total))
