"""A program on a terminal of its own, as a person would use it: typed at, and read from.

`screen` is everything that was printed, without the sequences that move the cursor or set colours,
so that a test can wait for a text. The program is ended with the test.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence

# Wide, so that no line is wrapped and cut.
ROWS, COLUMNS = 50, 300
CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PLACED = re.compile(r"\x1b\[(?:(\d+);(\d+)H|(2J)|[0-9;?]*[A-Za-z])|[^\x1b]+")
READ_BYTES = 65_536
STOP_SECONDS = 30.0
# For a busy machine; usually it takes a fraction of a second.
DEADLINE_SECONDS = 60.0


class Terminal:
    """`argv` runs until `close`."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        rows: int = ROWS,
        columns: int = COLUMNS,
    ) -> None:
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**(os.environ if environment is None else environment), "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(slave)
        self._printed = b""

    @property
    def screen(self) -> str:
        """All that was printed so far."""
        return CONTROL_SEQUENCE.sub("", self._printed.decode(errors="replace"))

    @property
    def printed(self) -> bytes:
        """All that was printed so far, control sequences included."""
        return self._printed

    @property
    def drawn(self) -> list[str]:
        """The lines of the screen, as a terminal shows them that knows how to place the cursor."""
        return drawn(self._printed.decode(errors="replace"), self.rows)

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size; the program gets SIGWINCH."""
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_until(
        self, condition: Callable[[list[str]], bool], *, seconds: float = DEADLINE_SECONDS
    ) -> None:
        """Reads until the lines of the screen are as wanted. Raises AssertionError."""
        deadline = time.monotonic() + seconds
        while not condition(self.drawn):
            text = "\n".join(self.drawn)
            assert time.monotonic() < deadline, f"the screen is\n{text}"
            assert self._read(0.1) or self.process.poll() is None, f"it has ended:\n{text}"

    def type(self, text: str) -> None:
        """What a person types; "\\r" is the Enter key, "\\t" the tabulator key."""
        os.write(self.master, text.encode())

    def wait_for(self, text: str, *, seconds: float = DEADLINE_SECONDS) -> str:
        """Reads until `text` has been printed; what was printed up to its end, which is then
        forgotten. Raises AssertionError when it does not come in time or the program ends first.
        """
        deadline = time.monotonic() + seconds
        while text not in self.screen:
            alive = self._read(deadline - time.monotonic())
            assert alive or text in self.screen, f"{text!r} was not printed, but: {self.screen!r}"
        before, _, after = self.screen.partition(text)
        self._printed = after.encode()
        return before + text

    def read_to_end(self, *, seconds: float = DEADLINE_SECONDS) -> str:
        """What the program prints until it ends. Raises AssertionError when it does not."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        assert time.monotonic() < deadline, f"it goes on: {self.screen!r}"
        return self.screen

    def _read(self, seconds: float) -> bool:
        """More of what is printed; False at the end of it, or of the time."""
        readable, _, _ = select.select([self.master], [], [], max(0.0, seconds))
        try:
            data = os.read(self.master, READ_BYTES) if readable else b""
        except OSError:  # on Linux, the end of the other side
            return False
        self._printed += data
        return bool(data)

    def close(self) -> None:
        """Ends the program, if it has not ended by itself."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(STOP_SECONDS)
        os.close(self.master)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def drawn(printed: str, rows: int) -> list[str]:
    """What stands on a screen after this was printed, for programs that place each line."""
    lines = [""] * rows
    row = column = 0
    for found in PLACED.finditer(printed):
        if found[1]:
            row, column = int(found[1]) - 1, int(found[2]) - 1
        elif found[3]:
            lines = [""] * rows
        elif not found[0].startswith("\x1b") and row < rows:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + found[0] + line[column + len(found[0]) :]
            column += len(found[0])
    return [line.rstrip() for line in lines]
