"""Python's garbage collector, out of the way while entries pass by the million.

Each is a handful of small objects, none of them in a cycle. To collect them costs a third of the
time and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
