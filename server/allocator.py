"""The C library's allocator, which large blocks come from: when it gives memory back to the system.

By itself it returns the end of its heap to the system as soon as 128 KiB there are free, and maps
large blocks one by one. A server that makes a reply of 60 KB, sends it and frees it then gets new
pages for each reply, and each page is a fault and is filled with zeros: that is a third of the time
of a large reply. So the server keeps up to 16 MiB at the end of the heap, until it is asked to give
back all that is free (MEMORY PURGE).

Allocators without these functions (musl, macOS) are left alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

# Parameters of mallopt(3).
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3

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


def _function(name: str) -> Callable[..., object] | None:
    return getattr(ctypes.CDLL(None), name, None)
