"""How many entries to ask for at once: as many as a page may have, and no more bytes than fit.

Servers count entries, not bytes, so the first page is small, and the next ones follow from what
entries have turned out to weigh. A reply that is far too long all the same, because large entries
come after small ones, is not read to its end: it is asked for again in smaller pages.
"""

from __future__ import annotations

PAGE_SIZE = 1000
FIRST_PAGE_SIZE = 100
GROWTH = 10
PAGE_BYTES = 8 << 20
MAX_REPLY_BYTES = 64 << 20


class PageSize:
    """`count`: how many entries to ask for next."""

    def __init__(self, most: int = PAGE_SIZE) -> None:
        self._most = most
        self.count = min(most, FIRST_PAGE_SIZE)

    @property
    def max_bytes(self) -> int | None:
        """Of the reply; None: one entry cannot be made less."""
        return MAX_REPLY_BYTES if self.count > 1 else None

    def seen(self, entries: int, size_bytes: int) -> None:
        """What the last page was."""
        if entries:
            fits = PAGE_BYTES * entries // max(size_bytes, 1)
            self.count = max(min(self._most, fits, self.count * GROWTH), 1)

    def shrink(self) -> None:
        """After a reply that was too long."""
        self.count = max(self.count // GROWTH, 1)
