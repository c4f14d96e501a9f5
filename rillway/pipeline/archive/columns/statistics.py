"""Statistics of columns for the Delta log: least and greatest value, number of nulls.

Engines skip files by them, so they are never narrower than the values. Text is truncated to 32
characters, the greatest one rounded up; times are in milliseconds, rounded outwards. A column with
NaN or infinity has no bounds; neither have booleans, bytes and nested types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

# The log's statistics truncate longer text.
TEXT_CHARACTERS = 32
LAST_CHARACTER = "\U0010ffff"
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Bound: TypeAlias = int | float | str | Decimal


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The bounds of a column in a file, as JSON values; None if it has none."""

    name: str
    nulls: int
    least: Bound | None = None
    greatest: Bound | None = None


def least_text(text: str) -> str:
    """Return a lower bound of a text that is short enough for the statistics."""
    return text[:TEXT_CHARACTERS]


def greatest_text(text: str) -> str:
    """Return an upper bound of a text: a longer one is truncated, plus the greatest character."""
    if len(text) <= TEXT_CHARACTERS:
        return text
    # max: the text may continue with that character, and is then greater.
    return max(text, text[:TEXT_CHARACTERS] + LAST_CHARACTER)


def time_bounds(name: str, nulls: int, first_ms: int | None, last_ms: int | None) -> ColumnBounds:
    """Return the bounds of times in Unix ms; none after the year 9999."""
    if first_ms is None or last_ms is None:
        return ColumnBounds(name, nulls)
    try:
        first, last = (UNIX_EPOCH + timedelta(milliseconds=ms) for ms in (first_ms, last_ms))
        return ColumnBounds(name, nulls, _as_json(first), _as_json(last))
    except OverflowError:
        return ColumnBounds(name, nulls)


@dataclass(slots=True)
class _Seen:
    """The statistics of a column so far. `is_open`: a value has no bounds, such as NaN."""

    kind: pa.DataType
    nulls: int = 0
    least: Any = None
    greatest: Any = None
    is_open: bool = False

    def add(self, values: pa.Array) -> None:
        self.nulls += values.null_count
        if self.is_open or values.null_count == len(values):
            return
        if pa.types.is_floating(self.kind) and not pc.all(pc.is_finite(values)).as_py():
            self.is_open = True
            return
        found = pc.min_max(values)
        low, high = found["min"], found["max"]
        self.least = low if self.least is None or pc.less(low, self.least).as_py() else self.least
        is_greater = self.greatest is None or pc.greater(high, self.greatest).as_py()
        self.greatest = high if is_greater else self.greatest

    def bounds(self, name: str) -> ColumnBounds:
        if self.is_open or self.least is None:
            return ColumnBounds(name, self.nulls)
        try:
            least, greatest = _as_json(self.least.as_py()), _as_json(self.greatest.as_py(), up=True)
        except (ValueError, OverflowError):  # a date beyond Python's range
            return ColumnBounds(name, self.nulls)
        return ColumnBounds(name, self.nulls, least, greatest)


@dataclass(slots=True)
class Statistics:
    """The statistics of typed columns of a file that is being written."""

    fields: Sequence[pa.Field]
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        for one in self.fields:
            if has_bounds(one.type):
                seen = self._seen.setdefault(one.name, _Seen(one.type))
                seen.add(batch.column(one.name))

    def times_ms(self, name: str) -> tuple[int | None, int | None, int]:
        """Return the bounds of a column of times, rounded outwards, and the number of nulls."""
        seen = self._seen.get(name)
        if seen is None or seen.least is None:
            return None, None, 0 if seen is None else seen.nulls
        low, high = (pc.cast(one, pa.int64()).as_py() for one in (seen.least, seen.greatest))
        return low // 1000, -(-high // 1000), seen.nulls

    def bounds(self) -> tuple[ColumnBounds, ...]:
        return tuple(seen.bounds(name) for name, seen in self._seen.items())


def has_bounds(kind: pa.DataType) -> bool:
    """Return True if Delta has bounds for a type."""
    return not (pa.types.is_nested(kind) or pa.types.is_boolean(kind) or pa.types.is_binary(kind))


def _as_json(value: Any, *, up: bool = False) -> Bound:
    """Return a bound as a JSON value. Raises ValueError for NaN and infinity."""
    if isinstance(value, str):
        return greatest_text(value) if up else least_text(value)
    if isinstance(value, datetime):
        milliseconds = value - timedelta(microseconds=value.microsecond % 1000)
        if up and milliseconds != value:
            milliseconds += timedelta(milliseconds=1)
        return milliseconds.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("no bound")
    found: Bound = value
    return found
