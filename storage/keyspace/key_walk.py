"""A consistent snapshot of a database's keys, read incrementally (KEYS over many keys).

The walk keeps references to the blocks of the database's SCAN order, a few thousand for a million
keys, and reads one after the other. The database reports each key that is removed meanwhile
(`keep`); the walk keeps it if its block was not read yet. A key that is added meanwhile has a
greater serial number than any at the beginning, and is skipped. So the result is that of the
beginning, whatever happens in between, FLUSHALL included.

Leaves out: keys that had expired at that moment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator


class KeyWalk:
    """A consistent snapshot of a database's keys, read incrementally."""

    __slots__ = (
        "_blocks",
        "_bounds",
        "_end",
        "_expires",
        "_kept",
        "_now_ms",
        "_position",
        "is_over",
    )

    def __init__(
        self,
        blocks: list[tuple[int, dict[int, bytes]]],
        end: int,
        expires: dict[bytes, int],
        now_ms: int,
    ) -> None:
        """`blocks`: of the order (OrderedIndex.blocks). Keys with serials from `end` on are new."""
        self._bounds = [bound for bound, _ in blocks]
        self._blocks = [block for _, block in blocks]
        self._end = end
        self._expires = expires
        self._now_ms = now_ms
        self._kept: dict[int, dict[int, bytes]] = {}  # by position of the block
        self._position = 0  # of the block that is read next
        self.is_over = False

    def keep(self, key: bytes, serial: int, expires_ms: int | None) -> None:
        """A key is about to be removed: keep it if the walk must still return it."""
        position = bisect_right(self._bounds, serial) - 1
        had_expired = expires_ms is not None and expires_ms < self._now_ms
        if serial < self._end and position >= self._position and not had_expired:
            self._kept.setdefault(position, {})[serial] = key

    def read(self) -> Iterator[list[bytes]]:
        """The keys, some hundreds at a time; each is given once."""
        for block in self._blocks:
            # A block that was split or merged meanwhile still has keys that are removed later.
            items = self._kept.pop(self._position, {}) | block
            self._position += 1
            if self._expires or max(items, default=0) >= self._end:
                yield [key for serial, key in items.items() if self._counts(serial, key)]
            else:
                yield list(items.values())

    def end(self) -> None:
        """End the walk: nothing more is read."""
        self.is_over = True
        self._blocks = []
        self._kept = {}

    def _counts(self, serial: int, key: bytes) -> bool:
        if serial >= self._end:
            return False
        expires_ms = self._expires.get(key) if self._expires else None
        return expires_ms is None or expires_ms >= self._now_ms
