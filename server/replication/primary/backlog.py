"""The replication backlog: the last bytes of the stream, so that replicas can resume it.

Offsets count the bytes of the stream from 1. The backlog holds those from `first_offset` on, in the
chunks in which they were sent. The replicas' output shares these chunks, so nothing is copied. Old
bytes are dropped by whole chunks, and only if `repl-backlog-size` bytes remain, so the backlog may
hold more than that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import islice

MIN_BYTES = 16 * 1024
# Smaller chunks are joined: a million of them would take more memory than their bytes.
_JOIN_BYTES = 16 * 1024


class Backlog:
    """The backlog of one replication history."""

    def __init__(self, size_bytes: int, offset: int) -> None:
        """Empty; the next byte has the offset after `offset`."""
        self.size_bytes = size_bytes
        self.length = 0
        self._chunks: deque[bytes] = deque()
        self._next_offset = offset + 1

    @property
    def first_offset(self) -> int:
        """The offset of the first byte that is held; that of the next byte if it is empty."""
        return self._next_offset - self.length

    def append(self, data: bytes) -> None:
        """Append the next bytes of the stream; drop old chunks."""
        chunks = self._chunks
        if chunks and len(chunks[-1]) + len(data) <= _JOIN_BYTES:
            chunks[-1] += data
        else:
            chunks.append(data)
        self._next_offset += len(data)
        self.length += len(data)
        limit = max(self.size_bytes, MIN_BYTES)
        while self.length - len(chunks[0]) >= limit:
            self.length -= len(chunks.popleft())

    def holds(self, offset: int) -> bool:
        """Return True if a replica can resume at `offset`, which may be that of the next byte."""
        return self.first_offset <= offset <= self._next_offset

    def since(self, offset: int) -> list[bytes]:
        """The bytes from `offset` on."""
        assert self.holds(offset)
        skipped = offset - self.first_offset
        starts: list[int] = []
        position = 0
        for chunk in self._chunks:
            starts.append(position)
            position += len(chunk)
        if skipped == position:
            return []
        index = bisect_right(starts, skipped) - 1
        first, *rest = islice(self._chunks, index, None)
        return [first[skipped - starts[index] :], *rest]
