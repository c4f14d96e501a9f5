"""The progress of a long command: rows, rate, time left; at the end, what it did.

On a terminal it is a bar, if rich is installed; otherwise a line every two seconds, for logs. It is
written to standard error: standard output is for results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from rillway.plurals import count_of
from rillway.text import duration

LINE_EVERY_SECONDS = 2.0
DRAW_EVERY_SECONDS = 0.1


class Display(Protocol):
    """The interface that a Progress draws itself with."""

    def draw(self, progress: Progress) -> None: ...

    def print(self, text: str) -> None: ...

    def close(self) -> None: ...


class Progress:
    """Counts, and shows the count. It is a context manager; `advance` may be called often."""

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        unit: str = "entry",
        display: Display | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`what`: "archiving orders"; `total`: the expected number of units, if known.

        `unit`: a noun in the singular.
        """
        self.what = what
        self.total = total
        self.unit = unit
        self.done = 0
        self._clock = clock
        self._began = clock()
        self._next_draw = self._began
        self._display = display or choose_display(sys.stderr)

    @property
    def seconds(self) -> float:
        return max(self._clock() - self._began, 1e-9)

    @property
    def rate(self) -> float:
        """Units a second, so far."""
        return self.done / self.seconds

    @property
    def seconds_left(self) -> float | None:
        """The estimated time left; None if it is unknown."""
        if self.total is None or not self.done:
            return None
        return max(self.total - self.done, 0) / self.rate

    def advance(self, units: int) -> None:
        self.update(self.done + units)

    def update(self, done: int) -> None:
        """Set the total so far."""
        self.done = done
        if self._clock() >= self._next_draw:
            self._next_draw = self._clock() + DRAW_EVERY_SECONDS
            self._display.draw(self)

    def set_total(self, total: int | None) -> None:
        self.total = total

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self._display.print(text)

    def line(self) -> str:
        """Return `archiving orders: 1,204 of 9,000 entries, 602 a second, 13 s left`."""
        count = count_of(self.done if self.total is None else self.total, self.unit)
        done = "" if self.total is None else f"{self.done:,} of "
        text = f"{self.what}: {done}{count}, {self.rate:,.0f} a second"
        left = self.seconds_left
        return text if left is None else f"{text}, {duration(left * 1000)} left"

    def summary(self) -> str:
        """Return `1,204 entries in 2.0 s, 602 a second`."""
        done = count_of(self.done, self.unit)
        return f"{done} in {duration(self.seconds * 1000)}, {self.rate:,.0f} a second"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._display.close()


def choose_display(stream: TextIO) -> Display:
    """Return a bar for a terminal if rich is installed; otherwise lines."""
    if stream.isatty():
        try:
            return BarDisplay(stream)
        except ImportError:
            pass
    return LineDisplay(stream)


class LineDisplay:
    """Prints a line every two seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next_line = clock() + LINE_EVERY_SECONDS

    def draw(self, progress: Progress) -> None:
        if self._clock() >= self._next_line:
            self._next_line = self._clock() + LINE_EVERY_SECONDS
            self.print(progress.line())

    def print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        pass


class BarDisplay:
    """Draws a bar at the bottom of the terminal."""

    def __init__(self, stream: TextIO) -> None:
        """Raises ImportError without rich."""
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        # Without a thread, which would draw into other output.
        self._bars = Bars(
            BarColumn(bar_width=30),
            TextColumn("{task.description}"),
            console=Console(file=stream),
            auto_refresh=False,
            transient=True,
        )
        self._task: Any = None

    def draw(self, progress: Progress) -> None:
        if self._task is None:
            self._bars.start()
            self._task = self._bars.add_task("", total=progress.total)
        self._bars.update(
            self._task,
            completed=progress.done,
            total=progress.total,
            description=progress.line(),
            refresh=True,
        )

    def print(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        self._bars.stop()


SILENT_SECONDS = 60


class OncePerMinute:
    """Suppresses repeated messages for a minute, so that short rounds do not fill a log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[object, float] = {}

    def allows(self, about: object) -> bool:
        """Return True if a message should be printed: once a minute."""
        now = self._clock()
        self._until = {key: until for key, until in self._until.items() if until > now}
        if about in self._until:
            return False
        self._until[about] = now + SILENT_SECONDS
        return True
