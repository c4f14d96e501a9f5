"""A sum of bytes that the parts of a whole add to as they change.

So what a stream's groups take is known without visiting them: blocks, consumers and orders add what
they grow to the tally of their group, and that adds it to the one of its stream.
"""

from __future__ import annotations

import cython


@cython.cclass
class Tally:
    """The memory of some parts in bytes; see the module."""

    __slots__ = ("_whole", "total_bytes")

    def __init__(self) -> None:
        self.total_bytes = 0
        self._whole: Tally | None = None

    def add(self, number: cython.longlong) -> None:
        """Add a number of bytes, which may be negative, here and to the whole."""
        self.total_bytes += number
        if self._whole is not None:
            self._whole.add(number)

    def join(self, whole: Tally) -> None:
        """Become a part of another tally, without being one so far."""
        whole.add(self.total_bytes)
        self._whole = whole

    def leave(self) -> None:
        """Be no part of another tally any more."""
        if self._whole is not None:
            self._whole.add(-self.total_bytes)
            self._whole = None
