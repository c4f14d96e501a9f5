"""Sizes of pages: the number of entries to ask for at once, within a limit of bytes.

Servers count entries, not bytes, so the first page is small, and the size of each page determines
the next one. A reply that is still far too long, because large entries follow small ones, is not
read to its end: its entries are requested again in smaller pages.
"""

from __future__ import annotations

PAGE_SIZE = 1000
FIRST_PAGE_SIZE = 100
GROWTH = 10
PAGE_BYTES = 8 << 20
MAX_REPLY_BYTES = 64 << 20


class PageSize:
    """The size of the next page. `count`: the number of entries to ask for."""

    def __init__(self, most: int = PAGE_SIZE) -> None:
        self._most = most
        self.count = min(most, FIRST_PAGE_SIZE)

    @property
    def max_bytes(self) -> int | None:
        """The limit of a reply in bytes; None if it has one entry, which cannot be split."""
        return MAX_REPLY_BYTES if self.count > 1 else None

    def seen(self, entries: int, size_bytes: int) -> None:
        """Set the size of the next page from the last one."""
        if entries:
            fits = PAGE_BYTES * entries // max(size_bytes, 1)
            self.count = max(min(self._most, fits, self.count * GROWTH), 1)

    def shrink(self) -> None:
        """Shrink after a reply that was too long."""
        self.count = max(self.count // GROWTH, 1)
