"""A terminal: keys in, lines out, and the previous mode restored at the end.

The alternate screen, the cursor and the keyboard mode are restored on every exit, by an exception,
SIGTERM, SIGHUP or Ctrl-C, and while the process is stopped by Ctrl-Z.

rich renders styles as colours; without it, lines are plain.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TextIO

from rillway.top.text import Line

ENTER_SCREEN = "\x1b[?1049h\x1b[?25l\x1b[2J"
LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l"
STYLES = {
    "title": "bold",
    "heading": "bold cyan",
    "selected": "reverse",
    "dead": "bold red",
    "warn": "yellow",
    "dim": "dim",
}
# Terminals send one of these for a key that is no character.
SEQUENCES = {
    "A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end",
    "1~": "home", "4~": "end", "5~": "pgup", "6~": "pgdn", "7~": "home", "8~": "end",
}  # fmt: skip
CHARACTERS = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace"}
KEY = re.compile(r"\x1b[\[O]([0-9;]*[A-Za-z~])|\x1b|[^\x1b]", re.DOTALL)
# Shift, Ctrl and Alt: `1;5A` is Ctrl-Up.
MODIFIER = re.compile(r"^1(?=;\d+[A-Z])|;\d+")
READ_BYTES = 4096
# How long to wait for the rest of a sequence after Esc.
ESCAPE_S = 0.03


def keys_of(typed: str) -> list[str]:
    """Return the names of typed keys, without unknown sequences."""
    found = []
    for match in KEY.finditer(typed):
        sequence = match[1]
        if sequence is not None:
            found.append(SEQUENCES.get(MODIFIER.sub("", sequence), ""))
        elif match[0] == "\x1b":
            found.append("esc")
        else:
            found.append(CHARACTERS.get(match[0], match[0] if match[0].isprintable() else ""))
    return [key for key in found if key]


class Terminal:
    """A context manager. `has_ended`: by a signal, or the end of the input."""

    def __init__(self, incoming: TextIO | None = None, outgoing: TextIO | None = None) -> None:
        self._in = (incoming or sys.stdin).fileno()
        outgoing = outgoing or sys.stdout
        self._out, self._encoding = outgoing.fileno(), outgoing.encoding
        self._paint = painter()
        self._shown: list[Line] = []
        self._mode: list[Any] = []
        self._before: dict[int, Any] = {}
        # Signals end the wait for a key.
        self._wake_out, self._wake_in = os.pipe()
        for end in (self._wake_out, self._wake_in):
            os.set_blocking(end, False)
        self.has_ended = False
        self._is_away = False

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of columns and rows."""
        size = os.get_terminal_size(self._out)
        return max(size.columns, 1), max(size.lines, 1)

    # -- in and out of it -------------------------------------------------------------------------

    def __enter__(self) -> Terminal:
        self._mode = termios.tcgetattr(self._in)
        handlers: dict[int, Callable[[int, FrameType | None], None]] = {
            signal.SIGWINCH: self._resized,
            signal.SIGTERM: self._ended,
            signal.SIGHUP: self._ended,
            signal.SIGINT: self._ended,
            signal.SIGTSTP: self._stopped,
            signal.SIGCONT: self._continued,
        }
        for number, handler in handlers.items():
            self._before[number] = signal.signal(number, handler)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._give_back()
        os.close(self._wake_out)
        os.close(self._wake_in)

    def _take(self) -> None:
        tty.setcbreak(self._in, termios.TCSANOW)
        self._shown = []
        self._write(ENTER_SCREEN)

    def _give_back(self) -> None:
        try:
            self._write(LEAVE_SCREEN)
            termios.tcsetattr(self._in, termios.TCSANOW, self._mode)
        except (OSError, termios.error):  # the terminal was closed
            pass

    # -- signals ----------------------------------------------------------------------------------

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self._shown = []
        self._wake()

    def _ended(self, number: int, frame: FrameType | None) -> None:
        self.has_ended = True
        self._wake()

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-Z: the shell has its terminal until it continues this process.

        This thread may run on for a moment after the signal was sent, and must not draw then.
        """
        self._is_away = True
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _continued(self, number: int, frame: FrameType | None) -> None:
        self._is_away = False
        self._take()
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_in, b"w")

    # -- keys and lines ---------------------------------------------------------------------------

    def keys(self, seconds: float) -> list[str]:
        """Return the keys typed within this time; none if a signal came."""
        ready, _, _ = select.select([self._in, self._wake_out], [], [], max(seconds, 0))
        if self._wake_out in ready:
            os.read(self._wake_out, READ_BYTES)
        if self._in not in ready:
            return []
        typed = os.read(self._in, READ_BYTES)
        if not typed:
            self.has_ended = True
        if typed.endswith(b"\x1b") and select.select([self._in], [], [], ESCAPE_S)[0]:
            typed += os.read(self._in, READ_BYTES)
        return keys_of(typed.decode(errors="replace"))

    def draw(self, lines: Sequence[Line]) -> None:
        """Draw the lines that changed, in one write, so that the screen does not flicker."""
        if self._is_away:
            return
        if len(self._shown) != len(lines):
            self._shown = []
        parts = ["\x1b[2J"] if not self._shown else []
        for number, line in enumerate(lines):
            if not self._shown or self._shown[number] != line:
                parts.append(f"\x1b[{number + 1};1H{self._paint(line)}")
        self._shown = list(lines)
        if parts:
            self._write("".join(parts))

    def _write(self, text: str) -> None:
        data = text.encode(self._encoding, errors="replace")
        while data:
            data = data[os.write(self._out, data) :]


def styled(line: Line) -> Any:
    """Return the line as rich's Text."""
    from rich.text import Text

    return Text.assemble(*((span.text, STYLES.get(span.style, "")) for span in line.spans))


def painter() -> Callable[[Line], str]:
    """Return a function that renders a line; without rich, without colours."""
    try:
        from rich.console import Console
    except ImportError:
        return lambda line: line.text
    console = Console(file=io.StringIO(), force_terminal=True, width=10_000, highlight=False)

    def paint(line: Line) -> str:
        with console.capture() as capture:
            console.print(styled(line), end="", soft_wrap=True)
        return capture.get()

    return paint
