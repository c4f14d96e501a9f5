"""The C library's allocator, which large blocks come from: when it gives memory back to the system.

By itself it returns the end of its heap to the system as soon as 128 KiB there are free, and maps
large blocks one by one. A server that makes a reply of 60 KB, sends it and frees it then gets new
pages for each reply, and each page is a fault and is filled with zeros: that is a third of the time
of a large reply. So the server keeps up to 16 MiB at the end of the heap. What is free before the
end stays in any case, however much that is, until it is given back: MEMORY PURGE asks for that, and
so does the background scheduler where `FreeMemory` has become notable.

To give back takes 0.13 ms for each megabyte, and 3 ms where there are 60,000 gaps. A thread would
not spare the loop from that: the allocator is locked meanwhile, and the loop's next block waits.

Allocators without these functions (musl, macOS, glibc before 2.33) are left alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

# Parameters of mallopt(3).
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3

# So much is worth the time that it takes to give it back.
NOTABLE_BYTES = 8 * 1024 * 1024

KEPT_BYTES = 16 * 1024 * 1024
LARGEST_HEAP_BLOCK_BYTES = 4 * 1024 * 1024


def keep_room_for_replies() -> None:
    """Keep what replies are made in; to be called once, before there is data."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, LARGEST_HEAP_BLOCK_BYTES)


def give_back() -> None:
    """Return what is free to the system."""
    malloc_trim = _function("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def free_bytes() -> int | None:
    """What is free in the heap, whether it was given back or not; None: there is no telling."""
    mallinfo2 = _function("mallinfo2")
    if mallinfo2 is None:
        return None
    mallinfo2.restype = _Figures
    figures: _Figures = mallinfo2()
    return int(figures.fordblks)


class FreeMemory:
    """How much has become free since memory was given back, as far as one can tell.

    What was given back still counts as free. If it is used, and free again when somebody looks,
    only the process has grown by it. So either of the two counts.
    """

    def __init__(
        self,
        resident_bytes: Callable[[], int],
        free_bytes: Callable[[], int | None] = free_bytes,
        give_back: Callable[[], None] = give_back,
    ) -> None:
        self._resident_bytes = resident_bytes
        self._free_bytes = free_bytes
        self._give_back = give_back
        # after memory was given back
        self._known_resident_bytes = resident_bytes()
        self._known_free_bytes = free_bytes()

    def give_back_if_notable(self) -> None:
        """Return what is free to the system, if it is worth the time."""
        free_bytes = self._free_bytes()
        if free_bytes is None or self._known_free_bytes is None:
            return
        freed = free_bytes - self._known_free_bytes
        grown = self._resident_bytes() - self._known_resident_bytes
        if min(free_bytes, max(freed, grown)) >= NOTABLE_BYTES:
            self.give_back()

    def give_back(self) -> None:
        """Return what is free to the system."""
        self._give_back()
        self._known_free_bytes = self._free_bytes()
        self._known_resident_bytes = self._resident_bytes()


class _Figures(ctypes.Structure):
    """What mallinfo2(3) answers."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def _function(name: str) -> Any:
    """A function of the C library; None if there is none of that name."""
    return getattr(ctypes.CDLL(None), name, None)
