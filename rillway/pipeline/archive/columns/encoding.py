"""Converts entries to typed columns and the remaining `fields`, one column at a time.

A value leaves `fields` if it equals its column's canonical text. A valid value that is written
otherwise is in both; an invalid one only in `fields`, with the reason in `_rescued`. decoding.py
does the reverse.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.canonical import canonical
from rillway.pipeline.archive.columns.layouts import LAYOUT, KnownLayouts, Layout
from rillway.pipeline.archive.columns.schema import RESCUED, Column, FieldMap
from rillway.pipeline.arrow import json_columns
from rillway.pipeline.arrow.column_parser import parse
from rillway.pipeline.arrow.schema import FIELDS, PAIRS

# The part of an invalid value that its reason quotes.
SHOWN_CHARACTERS = 80
NO_PLACE = pa.scalar(None, pa.int32())


class Unreadable(ValueError):
    """A value is not of its column's type, and `bad: fail`. `place`: the index of the entry."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


# The names of each entry in order.
Names: TypeAlias = Iterable[tuple[bytes, ...]]


def names_of(pairs: pa.ListArray) -> Names:
    """Return the names of entries in Arrow columns."""
    names = iter(pairs.flatten().field(0).to_pylist())
    return (tuple(islice(names, length)) for length in pairs.value_lengths().to_pylist())


def encode(
    pairs: pa.ListArray,
    runs: Iterable[tuple[KnownLayouts, Names]],
    fields: FieldMap,
    *,
    fails: bool = False,
) -> dict[str, pa.Array]:
    """Return the typed columns, `layout`, `_rescued` and the remaining `fields` by name.

    `runs`: for each run of entries of one stream, its layouts, and the names of the entries. Raises
    Unreadable if `fails`.
    """
    flat = pairs.flatten()
    starts = pc.subtract(pairs.offsets.slice(0, len(pairs)), pairs.offsets[0])
    values = flat.field(1)
    shapes = _shapes(runs, fields)
    number = pa.array(shapes.numbers, pa.int32()).take(shapes.at)
    found: dict[str, pa.Array] = {LAYOUT: number}
    reasons: dict[int, dict[str, str]] = {}
    taken: list[pa.Array] = []
    for column in fields.columns:
        places = _places(shapes, column.name, starts)
        texts = values.take(places)
        typed, bad = _parsed(texts, column)
        for place in bad:
            reason = _reason(column, texts[place].as_py())
            if fails:
                raise Unreadable(place, f"{column.name}: {reason}")
            reasons.setdefault(place, {})[column.name] = reason
        found[column.name] = typed
        is_same = pc.and_(pc.equal(canonical(typed, column), texts), number.is_valid())
        taken.append(pc.if_else(pc.fill_null(is_same, False), places, NO_PLACE))
    found[FIELDS] = _without(pairs, flat, starts, taken)
    found[RESCUED] = _rescued(reasons, len(pairs))
    return found


@dataclass(slots=True)
class _Shapes:
    """The layouts of entries and their numbers. `at`: the index of each entry's layout."""

    layouts: list[Layout] = field(default_factory=list)
    numbers: list[int | None] = field(default_factory=list)
    at: pa.Array = None


def _shapes(runs: Iterable[tuple[KnownLayouts, Names]], fields: FieldMap) -> _Shapes:
    found = _Shapes()
    at: list[int] = []
    for known, names in runs:
        seen: dict[tuple[bytes, ...], int] = {}
        for each in names:
            place = seen.get(each)
            if place is None:
                place = seen[each] = len(found.layouts)
                found.layouts.append(fields.layout(each))
                found.numbers.append(known.number(found.layouts[-1]))
            at.append(place)
    found.at = pa.array(at, pa.int32())
    return found


def _parsed(texts: pa.Array, column: Column) -> tuple[pa.Array, list[int]]:
    read = parse if column.is_scalar else json_columns.parse
    return read(texts, column.kind, column.times)


def _places(shapes: _Shapes, column: str, starts: pa.Array) -> pa.Array:
    """Return the index of a column's value for each entry, among all values; null if none."""
    within = [
        layout.columns.index(column) if column in layout.columns else None
        for layout in shapes.layouts
    ]
    return pc.add(starts, pa.array(within, pa.int32()).take(shapes.at))


def _without(
    pairs: pa.ListArray, flat: pa.StructArray, starts: pa.Array, taken: Sequence[pa.Array]
) -> pa.ListArray:
    """Return the fields without the taken ones."""
    gone = pa.concat_arrays(taken).drop_null() if taken else pa.array([], pa.int32())
    if not len(gone):
        return pairs
    counts = pa.array([0] * len(pairs), pa.int32())
    for places in taken:
        counts = pc.add(counts, places.is_valid().cast(pa.int32()))
    ends = pc.cumulative_sum(pc.subtract(pairs.value_lengths(), counts))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    kept = bytearray(b"\1") * len(flat)
    for place in gone.to_pylist():
        kept[place] = 0
    is_kept = pa.Array.from_buffers(pa.uint8(), len(flat), [None, pa.py_buffer(kept)])
    return pa.ListArray.from_arrays(offsets, flat.filter(is_kept.cast(pa.bool_())), type=PAIRS)


def _reason(column: Column, value: bytes) -> str:
    text = value.decode(errors="backslashreplace")
    shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
    return f"no {column.type}: '{shown}'"


def _rescued(reasons: dict[int, dict[str, str]], rows: int) -> pa.Array:
    if not reasons:
        return pa.nulls(rows, pa.string())
    texts = [
        json.dumps(reasons[place], ensure_ascii=False) if place in reasons else None
        for place in range(rows)
    ]
    return pa.array(texts, pa.string())
