"""MAXCOUNT and MAXSIZE: caps on one reply of XREAD or XREADGROUP (Redis 8.10).

Both count over all streams of a request, in the order of its keys. MAXSIZE is soft: an entry is
included as long as the bytes before it are below the cap, and the first entry always is. The bytes
counted are those of the reply: the headers of streams and their entries.

Entries beyond a cap are not delivered and do not count as delivered.
"""

from __future__ import annotations

from commands.streams.reading.read_request import ALL, ReadRequest, stream_header
from storage.entries.entry_id import EntryID
from storage.entries.entry_ids import EntryIDs
from storage.stream import Stream

UNLIMITED = 1 << 62


class NoCaps:
    """No caps: the usual case."""

    __slots__ = ()

    def start_stream(self, key: bytes, resp: int) -> None:
        """Begin another stream; its header counts with its first entry."""

    def admits(self) -> bool:
        """Return True if one more entry may be included."""
        return True

    def spend(self, entries: int, size_bytes: int) -> None:
        """Count `entries` entries of `size_bytes` bytes in all."""

    def read(
        self, stream: Stream, ids: EntryIDs, start: EntryID, wanted: int
    ) -> tuple[list[bytes], int]:
        """The entries of a stream from `start` on that the caps admit: chunks, size in bytes.

        Their IDs are appended to `ids`. `wanted`: the COUNT, or ALL. The size is 0 where there is
        no cap.
        """
        return stream.read_from(ids, start, wanted), 0


class ReplyCaps(NoCaps):
    """The rest of the caps while a reply grows."""

    __slots__ = ("_bytes", "_entries", "_header_bytes", "_is_empty")

    def __init__(self, max_count: int, max_size: int) -> None:
        """Entries and bytes; ALL: no cap."""
        self._entries = UNLIMITED if max_count == ALL else max_count
        self._bytes = UNLIMITED if max_size == ALL else max_size
        self._header_bytes = 0  # of the stream that comes next; counts with its first entry
        self._is_empty = True  # of entries; there may be streams whose history is empty

    def start_stream(self, key: bytes, resp: int) -> None:
        self._header_bytes = len(stream_header(key, 0, resp))

    def admits(self) -> bool:
        return self._entries > 0 and (self._is_empty or self._bytes > self._header_bytes)

    def spend(self, entries: int, size_bytes: int) -> None:
        self._entries -= entries
        self._bytes -= self._header_bytes + size_bytes
        self._header_bytes = 0
        if entries:
            self._is_empty = False

    def read(
        self, stream: Stream, ids: EntryIDs, start: EntryID, wanted: int
    ) -> tuple[list[bytes], int]:
        count = self._entries if wanted == ALL else min(wanted, self._entries)
        left_bytes = max(self._bytes - self._header_bytes, 1 if self._is_empty else 0)
        return stream.read_within(ids, start, count, left_bytes)


NO_CAPS = NoCaps()


def caps_of(request: ReadRequest) -> NoCaps:
    """The caps of one run of a request."""
    if not request.is_capped:
        return NO_CAPS
    return ReplyCaps(request.max_count, request.max_size)
