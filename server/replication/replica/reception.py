"""Receives a primary's snapshot over the link, into a file or into memory.

    $<length>\r\n<length bytes>           of a known length
    $EOF:<40 bytes>\r\n<bytes><same 40>   until the mark is repeated

Newlines may come before, as signs of life. Received bytes go straight to disk, or are kept in the
pieces in which they came (`repl-diskless-load`); no memory is allocated for the announced length.

The mark may be split between two reads, and its bytes may occur in the data by chance. But the
primary sends nothing after the mark until the replica has acknowledged, so it is the mark only if
it is at the end of all received bytes.
"""

from __future__ import annotations

import contextlib
import mmap
from collections import deque

from commands.connection.client_list import logged_client
from commands.core.client import Client
from server.persistence.files import Buffer, File, Files, write_all


def note_error_for_primary(client: Client, reply: bytes) -> None:
    """A request of the primary has failed. May end the process."""
    instance, config = client.instance, client.instance.config
    if instance.replication.link.damage:
        return  # which a full synchronisation is going to mend (applier.py)
    instance.stats.unexpected_error_replies += 1
    _log_error(client, reply, "replica", "master")
    if config.replica_read_only and config.propagation_error_behavior != "ignore":
        instance.host.fatal(
            "This replica panicked sending an error to its master after processing the command"
            f" '{_command(client)}' (propagation-error-behavior is"
            f" {config.propagation_error_behavior})"
        )


def refuse_reply_to_replica(client: Client, reply: bytes) -> None:
    """A replica has sent a request that is answered: close its connection."""
    instance = client.instance
    who = logged_client(client)
    instance.host.log(
        "warning",
        f"Replica generated a reply to command '{_command(client)}', disconnecting it: {who}",
    )
    if reply.startswith(b"-"):
        instance.stats.unexpected_error_replies += 1
        _log_error(client, reply, "master", "replica")
    client.connection.abort()


def _log_error(client: Client, reply: bytes, sender: str, receiver: str) -> None:
    instance = client.instance
    error = instance.shown(reply.partition(b"\r\n")[0].removeprefix(b"-").removeprefix(b"ERR "))
    instance.host.log(
        "warning",
        f"== CRITICAL == This {sender} is sending an error to its {receiver}: '{error}' after"
        f" processing the command '{_command(client)}'",
    )


def _command(client: Client) -> str:
    return client.last_command.decode() or "<unknown>"


MARK_BYTES = 40
_MAX_LINE_BYTES = 255
_EOF = b"$EOF:"
# Begin to sync after this many bytes.
_SYNC_BYTES = 8 << 20


class BadSnapshot(Exception):
    """The received bytes are not a snapshot; the text says why."""


class Reception:
    """Receives one snapshot, into the file at `path`, or into memory if that is ""."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = path
        self.expected_bytes = 0  # 0 until it is known, or if the snapshot ends with a mark
        self.received_bytes = 0
        self.is_complete = False
        self._files = files
        self._file: File | None = None
        self._pieces: deque[bytes] = deque()  # what is received into memory
        self._line: bytes | None = b""  # the received part of the first line; None: it is complete
        self._mark = b""
        self._tail = b""  # the last bytes received, which may be the beginning of the mark
        self._unsynced_bytes = 0

    @property
    def is_waiting(self) -> bool:
        """True if the first line, which announces the snapshot, has not come yet."""
        return self._line is not None

    @property
    def has_mark(self) -> bool:
        """True if the primary waits for an acknowledgement before it sends more."""
        return bool(self._mark)

    def feed(self, data: bytes) -> bytes:
        """Take bytes; returns the bytes after the end of the snapshot.

        Raises BadSnapshot, and OSError if writing fails.
        """
        if self._line is not None:
            data = self._read_line(self._line + data)
        if self._line is not None or not data:
            return self._finish_if_complete(b"")
        if self._mark:
            self._take_marked(data)
            return b""
        room = self.expected_bytes - self.received_bytes
        self._write(data[:room])
        return self._finish_if_complete(data[room:])

    def _read_line(self, data: bytes) -> bytes:
        """Read the first line; returns the bytes after it."""
        data = data.lstrip(b"\r\n")
        line, end, rest = data.partition(b"\r\n")
        if len(line) > _MAX_LINE_BYTES or (line and not line.startswith(b"$")):
            raise BadSnapshot(_no_snapshot(line[:80].decode("latin-1")))
        if not end:
            self._line = data
            return b""
        self._line = None
        if line.startswith(_EOF):
            self._mark = line[len(_EOF) :]
            if len(self._mark) != MARK_BYTES:
                raise BadSnapshot(
                    f"Bad protocol from MASTER, {line!r} is no mark of {MARK_BYTES} bytes"
                )
        elif line[1:].isdigit() and int(line[1:]):
            self.expected_bytes = int(line[1:])
        else:
            raise BadSnapshot(f"Bad protocol from MASTER, {line!r} is no length of a snapshot")
        if self.path:
            self._file = self._files.create(self.path)
        return rest

    def _take_marked(self, data: bytes) -> None:
        data = self._tail + data
        if data.endswith(self._mark):
            self._write(data[:-MARK_BYTES])
            self._complete()
            return
        self._tail = data[-MARK_BYTES:]
        self._write(data[:-MARK_BYTES])

    def _finish_if_complete(self, rest: bytes) -> bytes:
        if self.expected_bytes and self.received_bytes == self.expected_bytes:
            self._complete()
        return rest

    def _write(self, data: bytes) -> None:
        if not data:
            return
        self.received_bytes += len(data)
        if self._file is None:
            self._pieces.append(data)
            return
        write_all(self._file, data)
        self._unsynced_bytes += len(data)
        if self._unsynced_bytes >= _SYNC_BYTES:
            self._file.begin_sync()
            self._unsynced_bytes = 0

    def _complete(self) -> None:
        if self._file is not None:
            self._file.sync()
            self.close()
        self.is_complete = True

    def content(self) -> Buffer:
        """The complete snapshot; one in memory is given away. Raises OSError."""
        if self.path:
            return self._files.buffer(self.path)
        if not self._pieces:
            return b""
        # Each piece is freed once it is copied, so that the snapshot is in memory once.
        memory = mmap.mmap(-1, self.received_bytes)
        while self._pieces:
            memory.write(self._pieces.popleft())
        return memory

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Close and remove the file, or free the memory."""
        self.close()
        self._pieces.clear()
        if self.path:
            with contextlib.suppress(OSError):
                self._files.remove(self.path)


def _no_snapshot(line: str) -> str:
    """Return the line of the log for a first line that announces no snapshot."""
    if line.startswith("-"):
        return f"MASTER aborted replication with an error: {line[1:]}"
    return (
        f"Bad protocol from MASTER, the first byte is not '$' (we received '{line}'), are you sure"
        " the host and port are right?"
    )
