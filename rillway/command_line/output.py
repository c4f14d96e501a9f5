"""Standard output whose reader may close it, as `head` does: the command then ends quietly.

Python ignores SIGPIPE, so that a socket that is closed does not end a program, and raises
BrokenPipeError instead. Commands report that as they report other errors of the system. So what
standard output raises is SystemExit, with the status of a program that SIGPIPE has ended.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable
from typing import TextIO, TypeVar

STATUS = 128 + signal.SIGPIPE

_Result = TypeVar("_Result")


class PipeOutput(io.FileIO):
    """A file descriptor to write to. Raises SystemExit when its reader has closed it."""

    def write(self, data: object) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            # What is buffered is written again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise SystemExit(STATUS) from None


def pipe_output(stream: TextIO) -> TextIO:
    """A stream with the same descriptor and settings."""
    raw = PipeOutput(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.isatty(),
    )


def flushed(run: Callable[[], _Result], stream: TextIO) -> _Result:
    """Run a command, and write what it has left in the buffer, while errors can still be told."""
    try:
        return run()
    finally:
        stream.flush()
