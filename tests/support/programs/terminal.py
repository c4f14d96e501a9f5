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
from collections.abc import Mapping, Sequence

ROWS, COLUMNS = 50, 300
CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
READ_BYTES = 65_536
STOP_SECONDS = 5.0


class Terminal:
    """`argv` runs until `close`."""

    def __init__(
        self, argv: Sequence[str], *, environment: Mapping[str, str] | None = None
    ) -> None:
        self._master, slave = pty.openpty()
        # Wide, so that no line is wrapped and cut.
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
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

    def type(self, text: str) -> None:
        """What a person types; "\\r" is the Enter key, "\\t" the tabulator key."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str, *, seconds: float = 10.0) -> str:
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

    def read_to_end(self, *, seconds: float = 10.0) -> str:
        """What the program prints until it ends. Raises AssertionError when it does not."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        assert time.monotonic() < deadline, f"it goes on: {self.screen!r}"
        return self.screen

    def _read(self, seconds: float) -> bool:
        """More of what is printed; False at the end of it, or of the time."""
        readable, _, _ = select.select([self._master], [], [], max(0.0, seconds))
        try:
            data = os.read(self._master, READ_BYTES) if readable else b""
        except OSError:  # on Linux, the end of the other side
            return False
        self._printed += data
        return bool(data)

    def close(self) -> None:
        """Ends the program, if it has not ended by itself."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(STOP_SECONDS)
        os.close(self._master)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
