"""The keys of each hash slot: kept in cluster mode only, where slots move with their keys."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from protocol.slots import key_slot


class SlotIndex:
    """The keys of a database by slot, each slot's in the order in which they were added."""

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        self._keys: dict[int, dict[bytes, None]] = {}
        for key in keys:
            self.add(key)

    def add(self, key: bytes) -> None:
        self._keys.setdefault(key_slot(key), {})[key] = None

    def discard(self, key: bytes) -> None:
        slot = key_slot(key)
        keys = self._keys.get(slot)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._keys[slot]

    def clear(self) -> None:
        self._keys = {}

    def count(self, slot: int) -> int:
        return len(self._keys.get(slot, ()))

    def first(self, slot: int, limit: int) -> list[bytes]:
        """Up to `limit` keys of a slot."""
        return list(islice(self._keys.get(slot, ()), limit))

    def slots(self) -> list[int]:
        """The slots that have keys."""
        return list(self._keys)
