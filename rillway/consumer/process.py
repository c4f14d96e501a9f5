"""A command as the handler of entries: one process for each entry.

The entry is a line of JSON on standard input; exit status 0 means that it was handled. What the
command writes to standard error is passed on at once; the end of it is the reason of a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

from rillway.consumer.entry import Entry
from rillway.consumer.worker import GiveUp, HandlerFailed
from rillway.json_bytes import to_json

# As much of the end of standard error as a reason holds beside the exit status.
REASON_BYTES = 512
CHUNK_BYTES = 1 << 16
# How long the end of standard error is waited for: a process in the background may keep it open.
LAST_WORDS_SECONDS = 0.2


class Command:
    """The handler: runs the command once for each entry."""

    def __init__(self, words: list[str], *, trace: bool = False) -> None:
        self.words = words
        self.trace = trace

    async def __call__(self, entry: Entry) -> None:
        """Run the command. Raises HandlerFailed, or GiveUp if it does not exist."""
        errors = StandardError()
        try:
            process = await asyncio.create_subprocess_exec(
                *self.words,
                stdin=asyncio.subprocess.PIPE,
                stderr=errors.write_end,
                # Ctrl-C in a terminal is for this program, which then waits for the command.
                start_new_session=True,
                env=self._environment(),
            )
        except OSError as error:
            os.close(errors.read_end)
            raise GiveUp(f"cannot run {self.words[0]}: {error.strerror}") from error
        finally:
            os.close(errors.write_end)
        try:
            copying = await errors.copy()
            await process.communicate(as_json(entry))
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        status = process.returncode
        assert status is not None
        if status:
            await asyncio.wait({copying}, timeout=LAST_WORDS_SECONDS)
            raise HandlerFailed(failure(status, errors.tail))

    def _environment(self) -> dict[str, str] | None:
        """The command's environment: TRACEPARENT names the span of the entry, if there is one."""
        if not self.trace:
            return None
        from rillway.consumer.tracing import context_variables

        return {**os.environ, **context_variables()}


def as_json(entry: Entry) -> bytes:
    """Return one line: stream, id, deliveries, fields.

    UTF-8 becomes text. Another value is {"base64": ...}; in a name, other bytes are \\xHH.
    """
    fields = {
        name.decode(errors="backslashreplace"): to_json(value)
        for name, value in entry.fields.items()
    }
    line = {
        "stream": entry.stream,
        "id": entry.id,
        "deliveries": entry.deliveries,
        "fields": fields,
    }
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


class StandardError:
    """A pipe for a command's standard error: copies it to this program's, and keeps the end."""

    _copying: set[asyncio.Task[None]] = set()  # asyncio itself holds tasks weakly

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        self.tail = b""

    async def copy(self) -> asyncio.Task[None]:
        """Begin to copy. The task ends when no process has the pipe open any more."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        pipe = os.fdopen(self.read_end, "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        task = asyncio.ensure_future(self._copy(reader, transport))
        self._copying.add(task)
        task.add_done_callback(self._copying.discard)
        return task

    async def _copy(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        try:
            while chunk := await reader.read(CHUNK_BYTES):
                sys.stderr.buffer.write(chunk)
                sys.stderr.buffer.flush()
                self.tail = (self.tail + chunk)[-REASON_BYTES:]
        finally:
            transport.close()


def failure(status: int, tail: bytes) -> str:
    """Return why a command failed: its status, and the end of what it wrote to standard error."""
    ended = f"exit status {status}" if status > 0 else f"ended by {signal.Signals(-status).name}"
    said = tail.decode(errors="replace").strip()
    return f"{ended}: {said}" if said else ended
