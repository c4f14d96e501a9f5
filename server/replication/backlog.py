"""The backlog: the last bytes of the replication stream, for replicas whose link was cut.

Offsets count the bytes of the stream from 1. The backlog holds those from `first_offset` on, as
the chunks they came in; the same chunks wait in the replicas' output, so that nothing is copied.
What is older goes by whole chunks, and only while `repl-backlog-size` bytes remain: it may hold
more than that, never less of what there was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import islice

MIN_BYTES = 16 * 1024
# Smaller chunks are joined: a million of them would cost more than what is in them.
_JOIN_BYTES = 16 * 1024


class Backlog:
    """Of one history."""

    def __init__(self, size_bytes: int, offset: int) -> None:
        """Empty; the next byte has the offset after `offset`."""
        self.size_bytes = size_bytes
        self.length = 0
        self._chunks: deque[bytes] = deque()
        self._next_offset = offset + 1

    @property
    def first_offset(self) -> int:
        """The offset of the first byte that is held; of the next one if there is none."""
        return self._next_offset - self.length

    def append(self, data: bytes) -> None:
        """The bytes that follow."""
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
        """Whether a stream can go on with the byte at `offset`, which may be the next one."""
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
