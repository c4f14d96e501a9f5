"""What a value takes in memory, added up object by object: to compare `memory_bytes` with.

Interpreted only: attributes of compiled objects are no Python objects. There, numbers in attributes
take nothing of their own, so they do not count here, unless they are IDs that are kept as objects.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator
from types import FunctionType, GeneratorType, ModuleType
from typing import Any

from storage.entries.entry_id import IDProgression
from storage.memory import allocated_bytes, instance_bytes
from storage.nodes.entry_cache import EntryCache

# Attributes whose numbers are objects when compiled, too.
_ID_ATTRIBUTES = {"end", "key", "lost_end"}
_SHARED = type | FunctionType | GeneratorType | ModuleType | enum.Enum | EntryCache | IDProgression
_PLAIN = bytes | bytearray | int | float | str | array


def owned_bytes(value: object) -> int:
    """The memory of everything that can be reached from an object."""
    seen: dict[int, object] = {}
    total = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if item is None or id(item) in seen or isinstance(item, _SHARED) or _is_iterator(item):
            continue
        seen[id(item)] = item
        if isinstance(item, _PLAIN | list | tuple | dict | set):
            total += allocated_bytes(item)
            waiting += _items_of(item)
        else:
            total += instance_bytes(type(item))
            waiting += _attributes_of(item)
    return total


def _is_iterator(item: object) -> bool:
    return hasattr(item, "__next__")


def _items_of(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    return [] if isinstance(item, _PLAIN) else list(item)


def _attributes_of(item: object) -> Iterator[object]:
    for name, attribute in _named_attributes(item):
        is_number = isinstance(attribute, int | float) and name not in _ID_ATTRIBUTES
        if not is_number and not _is_shared_column(attribute):
            yield attribute


def _named_attributes(item: object) -> Iterator[tuple[str, object]]:
    for cls in type(item).__mro__:
        for name in getattr(cls, "__slots__", ()):
            if name != "__weakref__" and hasattr(item, name):
                yield name, getattr(item, name)
    yield from getattr(item, "__dict__", {}).items()


def _is_shared_column(attribute: object) -> bool:
    """Return True for a column of equal numbers, which all nodes share."""
    return isinstance(attribute, array | bytes) and len(attribute) > 1 and len(set(attribute)) == 1
