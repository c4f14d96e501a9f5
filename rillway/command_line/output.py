"""Output of commands: colours, a named target, and an output that its reader may close.

Python ignores SIGPIPE, so that a closed socket does not end a program, and raises BrokenPipeError
instead, which commands would report like any error of the system. When the reader of standard
output has closed it, as `head` does, that is no error: it raises SystemExit instead, with the
status of a program that SIGPIPE has ended.
"""

from __future__ import annotations

import io
import os
import signal
import sys
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
            # The buffer is written again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise SystemExit(STATUS) from None


def pipe_output(stream: TextIO) -> TextIO:
    """Return a stream with the same descriptor and settings."""
    raw = PipeOutput(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.isatty(),
    )


def flushed(run: Callable[[], _Result], stream: TextIO) -> _Result:
    """Run a command, and flush its output while errors can still be reported."""
    try:
        return run()
    finally:
        stream.flush()


CODES = {"red": "31", "green": "32", "yellow": "33"}


def has_colour(stream: TextIO) -> bool:
    """Return True if what is written to the stream may have colours (https://no-color.org)."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return not is_plain and stream.isatty()


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Return the text in a colour, if the stream shows it."""
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if has_colour(stream) else text


def name_target(sub_command: str, url: str) -> None:
    """Print the target of a sub-command on standard error: standard output may be data."""
    from rillway.pipeline.wire.urls import public_url  # which `rillway serve` does without

    print(f"rillway {sub_command}: writes to {public_url(url)}", file=sys.stderr)
