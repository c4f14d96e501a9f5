"""A snapshot as it comes over the link: from its first line to its last byte, into a file.

    $<length>\\r\\n<length bytes>           of a known length
    $EOF:<40 bytes>\\r\\n<bytes><same 40>   until the mark comes again

Newlines may come before, as signs of life. Whatever is announced, nothing is allocated for it: what
comes goes to disk as it comes.

The mark may be torn between two reads, and its bytes may be in the data by chance; but nothing is
sent after it before the replica has acknowledged, so only at the very end it means the end.
"""

from __future__ import annotations

import contextlib

from server.persistence.files import File, Files, write_all

MARK_BYTES = 40
_MAX_LINE_BYTES = 255
_EOF = b"$EOF:"
# How much is left to one sync.
_SYNC_BYTES = 8 << 20


class BadSnapshot(Exception):
    """What comes is no snapshot; the text says why."""


class Reception:
    """Of one snapshot, into the file at `path`."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = path
        self.expected_bytes = 0  # 0 until it is known, or if only a mark will tell
        self.received_bytes = 0
        self.is_complete = False
        self._files = files
        self._file: File | None = None
        self._line: bytes | None = b""  # the first one, as far as it has come; None: it is over
        self._mark = b""
        self._tail = b""  # the last bytes that came, which may be the beginning of the mark
        self._unsynced_bytes = 0

    @property
    def has_mark(self) -> bool:
        """Whether the primary waits for an acknowledgement before it sends more."""
        return bool(self._mark)

    def feed(self, data: bytes) -> bytes:
        """Take bytes; what is left of them when the snapshot is complete.

        Raises BadSnapshot, and OSError if the disk does not take it.
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
        """Read the first line; what comes after it."""
        data = data.lstrip(b"\r\n")
        line, end, rest = data.partition(b"\r\n")
        if len(line) > _MAX_LINE_BYTES or (line and not line.startswith(b"$")):
            raise BadSnapshot(f"the primary sends {line[:80]!r} instead of a snapshot")
        if not end:
            self._line = data
            return b""
        self._line = None
        if line.startswith(_EOF):
            self._mark = line[len(_EOF) :]
            if len(self._mark) != MARK_BYTES:
                raise BadSnapshot(f"{line!r} is no mark of {MARK_BYTES} bytes")
        elif line[1:].isdigit() and int(line[1:]):
            self.expected_bytes = int(line[1:])
        else:
            raise BadSnapshot(f"{line!r} is no length of a snapshot")
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
        assert self._file is not None
        if not data:
            return
        write_all(self._file, data)
        self.received_bytes += len(data)
        self._unsynced_bytes += len(data)
        if self._unsynced_bytes >= _SYNC_BYTES:
            self._file.sync()
            self._unsynced_bytes = 0

    def _complete(self) -> None:
        assert self._file is not None
        self._file.sync()
        self.close()
        self.is_complete = True

    def close(self) -> None:
        """Write no more."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Nobody wants it."""
        self.close()
        with contextlib.suppress(OSError):
            self._files.remove(self.path)
