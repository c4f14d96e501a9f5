"""What the allocators of this process say is in use: CPython's pools and glibc's malloc."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import tempfile


class _Figures(ctypes.Structure):
    """struct mallinfo2."""

    _names = (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )  # fmt: skip
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


try:
    _mallinfo2 = ctypes.CDLL(None).mallinfo2
    _mallinfo2.restype = _Figures
    HAS_FIGURES = True
except (OSError, AttributeError):
    HAS_FIGURES = False


def used_bytes() -> int:
    """The bytes of all blocks in use; the pools' memory is mapped, and no block of malloc."""
    gc.collect()
    figures = _mallinfo2()
    return int(figures.uordblks + figures.hblkhd) + _pooled_bytes()


def _pooled_bytes() -> int:
    """What sys._debugmallocstats() prints on the standard error of the process."""
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        found = re.search(rb"bytes in allocated blocks\s*=\s*([\d,]+)", file.read())
    assert found is not None
    return int(found[1].replace(b",", b""))
