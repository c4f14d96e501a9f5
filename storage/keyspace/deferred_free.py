"""Removed data, freed incrementally.

Freeing millions of objects takes a tenth of a second and more. So the data that a command removes
is collected in lists, and background work frees a few of their items at a time:

    removed = stream.release()
    instance.background_work.discard(removed)  # at once if it is small

Leaves out: a single huge object. A string of half a gigabyte is freed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

# The number of items that are freed in a step of about 0.3 ms, by the kind of item.
SMALL_ITEMS = 4000  # entries, IDs, keys
NODE_ITEMS = 200  # a node, with about a hundred entries in one blob
BLOCK_ITEMS = 8  # a block of an index, with hundreds of objects

# Up to this many steps are done at once: they take less than a millisecond.
FEW_STEPS = 3


# What can be freed item by item.
Items: TypeAlias = "list[Any] | dict[Any, Any] | set[Any]"


class RemovedData:
    """Lists, tables and sets of removed data."""

    __slots__ = ("_lists",)

    def __init__(self) -> None:
        self._lists: list[tuple[Items, int]] = []

    def add(self, items: Items, step_items: int) -> None:
        """Take over items that nothing else refers to; `step_items` of them are freed in a step."""
        if items:
            self._lists.append((items, step_items))

    def merge(self, other: RemovedData) -> None:
        """Take over the items of another one."""
        self._lists += other._lists
        other._lists = []

    @property
    def is_large(self) -> bool:
        """True if freeing the data takes more than about a millisecond."""
        steps = 0.0
        for items, step_items in self._lists:
            steps += len(items) / step_items
            if steps > FEW_STEPS:
                return True
        return False

    def free(self) -> Iterator[None]:
        """Free the items, some with each step of the iterator."""
        while self._lists:
            items, step_items = self._lists.pop()
            while items:
                _free_some(items, step_items)
                yield


def _free_some(items: Items, count: int) -> None:
    """Remove up to `count` of the items."""
    if isinstance(items, list):
        del items[-count:]
        return
    remove = items.popitem if isinstance(items, dict) else items.pop
    for _ in range(min(count, len(items))):
        remove()


# For values that are freed with their last reference. Nothing is ever added to it.
NO_WASTE = RemovedData()


# A function that frees removed data, now or in the background.
Discard: TypeAlias = Callable[[RemovedData], object]
