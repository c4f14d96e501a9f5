"""How long entries waited for their first delivery, as a histogram of Prometheus's kind.

The waiting time is the time of the delivery less the one in the entry's ID. The bounds of the
buckets are powers of two from 1 ms to 524 s, so that they never change; a last bucket takes what
waited longer. IDs that are no times are left out; an ID slightly ahead of the clock has not waited.

XADD counts nothing. A delivery costs a few additions for each entry, compiled: about a nanosecond.
"""

from __future__ import annotations

from array import array
from itertools import accumulate

import cython

from storage.entries.entry_ids import EntryIDs

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.entries.entry_ids import numbers_of

# Times in IDs: from September 2001 until an hour ahead of the clock.
_FIRST_TIME_MS: cython.longlong = 10**12
_AHEAD_MS: cython.longlong = 3_600_000
# The bucket of all that waited longer than 2**19 ms.
_LAST: cython.int = 20

# The upper bounds of the others, in ms.
BOUNDS_MS = tuple(1 << place for place in range(20))


def is_time(ms: int, now_ms: int) -> bool:
    """Return True if the first half of an ID is a time (Unix ms)."""
    return _FIRST_TIME_MS <= ms <= now_ms + _AHEAD_MS


@cython.cclass
class DeliveryLatency:
    """The histogram of one group, or of all."""

    __slots__ = ("_counts", "total_ms")

    def __init__(self) -> None:
        self._counts: array[int] = array("Q", bytes(8 * (len(BOUNDS_MS) + 1)))
        self.total_ms = 0  # what all entries together have waited

    def observe(self, ids: EntryIDs, now_ms: cython.longlong) -> None:
        """Count the delivery of entries, whose IDs ascend, at `now_ms` (Unix ms)."""
        count: cython.Py_ssize_t = ids.count
        if count and not self._observe_alike(ids, count, now_ms):
            self._observe_each(ids, count, now_ms)

    def _observe_alike(
        self, ids: EntryIDs, count: cython.Py_ssize_t, now_ms: cython.longlong
    ) -> bool:
        """Count entries that are all in one bucket, as those of a request mostly are."""
        numbers: cython.p_ulonglong = numbers_of(ids._numbers)
        counts: cython.p_ulonglong = numbers_of(self._counts)
        first_ms: cython.longlong = numbers[0]
        last_ms: cython.longlong = numbers[2 * count - 2]
        if not _FIRST_TIME_MS <= first_ms <= last_ms <= now_ms:
            return False
        bucket: cython.int = _bucket(now_ms - last_ms)
        if bucket < _LAST and now_ms - first_ms > 1 << bucket:
            return False
        added_ms: cython.ulonglong = 0
        place: cython.Py_ssize_t
        for place in range(count):
            added_ms += numbers[2 * place]
        counts[bucket] += count
        self.total_ms += count * now_ms - added_ms
        return True

    def _observe_each(
        self, ids: EntryIDs, count: cython.Py_ssize_t, now_ms: cython.longlong
    ) -> None:
        numbers: cython.p_ulonglong = numbers_of(ids._numbers)
        counts: cython.p_ulonglong = numbers_of(self._counts)
        place: cython.Py_ssize_t
        added_ms: cython.longlong
        waited_ms: cython.longlong
        bucket: cython.int = _LAST
        for place in range(count):
            added_ms = numbers[2 * place]  # compiled, more than 63 bits are negative
            if _FIRST_TIME_MS <= added_ms <= now_ms + _AHEAD_MS:
                waited_ms = now_ms - added_ms if now_ms > added_ms else 0
                self.total_ms += waited_ms
                # Each has waited no longer than the one before.
                while bucket > 0 and waited_ms <= 1 << (bucket - 1):
                    bucket -= 1
                counts[bucket] += 1

    def cumulative(self) -> list[int]:
        """For each of BOUNDS_MS how many entries waited no longer; then the number of all."""
        return list(accumulate(self._counts))


def _bucket(waited_ms: cython.longlong) -> cython.int:
    """The first bucket whose bound is not exceeded."""
    bucket: cython.int = 0
    while bucket < _LAST and waited_ms > 1 << bucket:
        bucket += 1
    return bucket
