"""Layouts: in which order an entry has its fields, and which of them have a column.

A row has the number of a layout, the state of the stream (identity/state_files.py) has what it is.
The number follows from the layout, so tasks on several machines give the same one without asking
each other. It has 31 bits: a second layout with a number that is taken gets none, and its entries
stand in `fields` as a whole. So do those of a stream whose entries all have other names, from a
limit on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

# Of a stream. Entries may have names that are different in each, timestamps say.
MAX_LAYOUTS, MAX_NAMES = 500, 20_000


@dataclass(frozen=True)
class Layout:
    """The names of the fields in order, and the column of each, None if it has none."""

    names: tuple[bytes, ...]
    columns: tuple[str | None, ...]

    @cached_property
    def number(self) -> int:
        """From 0 up, with 31 bits."""
        found = hashlib.sha1(usedforsecurity=False)
        for name, column in zip(self.names, self.columns, strict=True):
            text = (column or "").encode()
            found.update(b"%d:%s%d:%s" % (len(name), name, len(text), text))
        return int.from_bytes(found.digest()[:4], "big") >> 1


Layouts: TypeAlias = Mapping[int, Layout]
NO_LAYOUTS: Layouts = {}


class LayoutClash(Exception):
    """Two layouts have one number: what was written with the second one cannot be read.

    `kept`: all that were known, the first one among them.
    """

    def __init__(self, number: int, kept: Layouts) -> None:
        super().__init__(f"two orders of fields have the number {number}")
        self.kept = kept


@dataclass(slots=True)
class KnownLayouts:
    """The layouts of one stream, those that are found included. `new`: the latter alone."""

    before: Layouts = field(default_factory=dict)
    new: dict[int, Layout] = field(default_factory=dict)
    names: int = -1

    def number(self, layout: Layout) -> int | None:
        """Return the number of a layout; None if it can have none."""
        number = layout.number
        known = self.before.get(number) or self.new.get(number)
        if known is not None:
            return number if known == layout else None
        if self.names < 0:
            self.names = sum(len(one.names) for one in self.before.values())
        is_full = len(self.before) + len(self.new) >= MAX_LAYOUTS
        if is_full or self.names + len(layout.names) > MAX_NAMES:
            return None
        self.new[number] = layout
        self.names += len(layout.names)
        return number


def united(one: Layouts, other: Layouts) -> Layouts:
    """Both. Raises LayoutClash."""
    if not other or other is one:
        return one
    for number in one.keys() & other.keys():
        if one[number] != other[number]:
            raise LayoutClash(number, {**other, **one})
    return {**one, **other}
