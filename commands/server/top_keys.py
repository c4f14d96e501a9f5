"""The keys with the largest sums of something, in bounded memory: the Space-Saving algorithm.

`TopKeys` has a sum for up to `capacity` keys. A new key takes the place of the one with the least
sum and inherits that, as the sum that it may have had at most before: its error. So a sum is never
too small, `sum - error` never too large, and each key that has more than a 1/capacity of the total
has a place.

Source: Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data
Streams, 2005.
"""

from __future__ import annotations

from heapq import heappush, heapreplace


class TopKeys:
    """Sums by key."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._sums: dict[bytes, int] = {}
        self._errors: dict[bytes, int] = {}
        # Each key with a sum that it had once: the first is the least that any can have.
        self._heap: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return len(self._sums)

    def add(self, key: bytes, amount: int) -> None:
        """Add an amount, 0 or more, to a key's sum."""
        known = self._sums.get(key)
        if known is not None:
            self._sums[key] = known + amount
        elif len(self._sums) < self._capacity:
            self._sums[key] = amount
            self._errors[key] = 0
            heappush(self._heap, (amount, key))
        else:
            self._replace_least(key, amount)

    def _replace_least(self, key: bytes, amount: int) -> None:
        while True:
            noted, least = self._heap[0]
            error = self._sums[least]
            if noted == error:
                break
            heapreplace(self._heap, (error, least))  # it has grown since
        del self._sums[least], self._errors[least]
        self._sums[key] = error + amount
        self._errors[key] = error
        heapreplace(self._heap, (error + amount, key))

    def top(self, count: int) -> list[tuple[bytes, int]]:
        """The keys with the largest sums, and what each has for certain; the largest first."""
        certain = [(key, total - self._errors[key]) for key, total in self._sums.items()]
        certain.sort(key=lambda each: (-each[1], each[0]))
        return certain[:count]
