"""Tuning of the C library's allocator (glibc malloc): when free memory returns to the system.

By default malloc trims the top of its heap as soon as 128 KiB there are free, and gives each large
block a mapping of its own. A server that builds a reply of 60 KB, sends it and frees it then gets
new pages for each reply; page faults and zeroing take a third of the time of a large reply. So the
server keeps up to 16 MiB free at the top of the heap. Free memory below the top stays in the heap
in any case until malloc_trim(3) returns it: MEMORY PURGE calls that, and so does the background
scheduler when `FreeMemory` finds that enough has become free.

Under `maxmemory`, where values of other sizes replace those that are evicted, a server that is
never idle does so too. Trimming takes 0.13 ms for each megabyte, and 3 ms for 60,000 gaps. A thread
would not spare the loop: trimming locks the heap, so the loop's next allocation would wait.

Allocators without these functions (musl, macOS, glibc before 2.33) are left alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

# Parameters of mallopt(3).
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3

# From this much on, trimming is worth its time.
NOTABLE_BYTES = 8 * 1024 * 1024

# How much larger than what it uses the process may be under a memory limit: both together.
EXCESS_PERCENT = 15
EXCESS_BYTES = 20 * 1024 * 1024

KEPT_BYTES = 16 * 1024 * 1024
LARGEST_HEAP_BLOCK_BYTES = 4 * 1024 * 1024


def keep_room_for_replies() -> None:
    """Keep free memory in the heap for replies. Call it once, before there is data."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, LARGEST_HEAP_BLOCK_BYTES)


def give_back() -> None:
    """Return free memory to the system: malloc_trim(3)."""
    malloc_trim = _function("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def free_bytes() -> int | None:
    """Free bytes of the heap, returned to the system or not; None if malloc does not say."""
    mallinfo2 = _function("mallinfo2")
    if mallinfo2 is None:
        return None
    mallinfo2.restype = _Figures
    figures: _Figures = mallinfo2()
    return int(figures.fordblks)


class FreeMemory:
    """An estimate of how much memory has become free since the last trim.

    Trimmed memory still counts as free in malloc's figures. If it is used and freed again between
    two measurements, only the size of the process shows it. So growth of either figure counts.
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
        # after the last trim
        self._known_resident_bytes = resident_bytes()
        self._known_free_bytes = free_bytes()

    def give_back_if_notable(self, most_resident_bytes: int | None = None) -> bool:
        """Return free memory to the system, if there is enough to be worth the time; whether so.

        Not if the process occupies more than `most_resident_bytes`: it would take too long now.
        """
        free_bytes = self._free_bytes()
        if free_bytes is None or self._known_free_bytes is None:
            return False
        freed = free_bytes - self._known_free_bytes
        resident_bytes = self._resident_bytes()
        if most_resident_bytes is not None and resident_bytes > most_resident_bytes:
            return False
        grown = resident_bytes - self._known_resident_bytes
        is_notable = min(free_bytes, max(freed, grown)) >= NOTABLE_BYTES
        if is_notable:
            self.give_back()
        return is_notable

    def give_back_beyond(self, used_bytes: int) -> None:
        """Return unused memory if the process is much larger than what it uses."""
        if self._resident_bytes() > used_bytes + used_bytes * EXCESS_PERCENT // 100 + EXCESS_BYTES:
            self.give_back_if_notable()

    def give_back(self) -> None:
        """Return free memory to the system, and measure again."""
        self._give_back()
        self._known_free_bytes = self._free_bytes()
        self._known_resident_bytes = self._resident_bytes()


class _Figures(ctypes.Structure):
    """struct mallinfo2, the result of mallinfo2(3)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def _function(name: str) -> Any:
    """A function of the C library; None if it has none of that name."""
    return getattr(ctypes.CDLL(None), name, None)
