"""Layouts: the order of an entry's fields, and the columns of those that have one.

A row contains the number of its layout; the record of the stream (identity/state_files.py) contains
the layouts. The number is a hash of the layout, so tasks on several machines agree on it. It has 31
bits: if two layouts have the same number, the second one gets none, and its entries stay in
`fields` as a whole. The same happens beyond a limit, if the entries of a stream all have different
names. The footer of a file also has the layouts of its rows, for repairs without the state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa

from rillway.json_bytes import from_json, to_json

# The column with the number of a row's layout.
LAYOUT = "layout"
# Limits for a stream: each entry may have different names, such as timestamps.
MAX_LAYOUTS, MAX_NAMES = 500, 20_000


@dataclass(frozen=True)
class Layout:
    """The names of the fields in order, and the column of each or None."""

    names: tuple[bytes, ...]
    columns: tuple[str | None, ...]

    @cached_property
    def number(self) -> int:
        """A hash of 31 bits."""
        found = hashlib.sha1(usedforsecurity=False)
        for name, column in zip(self.names, self.columns, strict=True):
            text = (column or "").encode()
            found.update(b"%d:%s%d:%s" % (len(name), name, len(text), text))
        return int.from_bytes(found.digest()[:4], "big") >> 1


Layouts: TypeAlias = Mapping[int, Layout]
NO_LAYOUTS: Layouts = {}


class LayoutClash(Exception):
    """Two layouts have the same number: rows that were written with the second are unreadable.

    `kept`: all known layouts, with the first of the two.
    """

    def __init__(self, number: int, kept: Layouts) -> None:
        super().__init__(f"two orders of fields have the number {number}")
        self.kept = kept


@dataclass(slots=True)
class KnownLayouts:
    """The layouts of one stream: `before`, and `new` ones that were found."""

    before: Layouts = field(default_factory=dict)
    new: dict[int, Layout] = field(default_factory=dict)
    names: int = -1

    def number(self, layout: Layout) -> int | None:
        """Return the number of a layout; None if it cannot have one."""
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
    """Return the union of layouts. Raises LayoutClash."""
    if not other or other is one:
        return one
    for number in one.keys() & other.keys():
        if one[number] != other[number]:
            raise LayoutClash(number, {**other, **one})
    return {**one, **other}


# -- in the footers of files -----------------------------------------------------------------------

KEY = "rillway.layouts"


def numbers_of(batch: pa.RecordBatch) -> set[int]:
    """Return the numbers of the layouts of rows."""
    if LAYOUT not in batch.schema.names:
        return set()
    return set(batch.column(LAYOUT).unique().drop_null().to_pylist())


def as_metadata(layouts: Layouts) -> dict[str, str]:
    """Return the metadata for layouts; empty without layouts."""
    content = [
        [[to_json(name) for name in layout.names], layout.columns]
        for _, layout in sorted(layouts.items())
    ]
    return {KEY: json.dumps(content, ensure_ascii=False)} if content else {}


def from_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[int, Layout]:
    """Return the layouts in a footer. Raises ValueError, TypeError for anything else."""
    content: list[Any] = json.loads((metadata or {}).get(KEY.encode(), b"[]"))
    layouts = [Layout(tuple(map(from_json, names)), tuple(cols)) for names, cols in content]
    return {layout.number: layout for layout in layouts}
