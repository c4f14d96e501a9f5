"""The schema of an archive: which fields of which streams have typed columns.

It is stored as JSON in the table's property `rillway.columns`. A column that no stream uses any
more stays there, because it is needed to read rows that were written with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache

import pyarrow as pa

from rillway.pipeline.archive.columns.ddl import parse_type
from rillway.pipeline.archive.columns.layouts import LAYOUT, Layout
from rillway.pipeline.arrow.column_parser import UNITS_A_SECOND, TimeText
from rillway.pipeline.arrow.time_format import TimeFormat
from rillway.pipeline.ranges.discovery import glob

RESCUED = "_rescued"
# The table's own columns, and `raw`, which is known in conditions of queries.
RESERVED = ("stream", "epoch", "id", "ms", "seq", "ts", "date", LAYOUT, "fields", RESCUED, "raw")
# Delta allows these characters only with column mapping, which other readers lack.
FORBIDDEN = " ,;{}()\n\t="
REMEMBERED_LAYOUTS = 1000
RESCUE, FAIL = "rescue", "fail"


class BadColumns(ValueError):
    """An invalid schema; the message says why and what is allowed."""


@dataclass(frozen=True, slots=True)
class Column:
    """A typed column. `type`: in DDL; `epoch_unit`, `time_format`: the form of TIMESTAMP values."""

    name: str
    type: str
    epoch_unit: str | None = None
    time_format: str | None = None

    @property
    def kind(self) -> pa.DataType:
        return parse_type(self.type)

    @property
    def times(self) -> TimeText:
        return _times(self.epoch_unit, self.time_format)

    @property
    def is_scalar(self) -> bool:
        return not pa.types.is_nested(self.kind)


@lru_cache(maxsize=100)
def _times(epoch_unit: str | None, time_format: str | None) -> TimeText:
    return TimeText(epoch_unit, None if time_format is None else TimeFormat(time_format))


@dataclass(frozen=True, slots=True)
class StreamColumns:
    """The fields and columns of the streams whose names match a pattern."""

    pattern: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Columns:
    """A schema.

    `is_case_sensitive`: whether the case of field names matters; `fails`: a value that is not of
    its column's type ends the archiving of its stream, instead of staying in `fields`.
    """

    columns: tuple[Column, ...] = ()
    streams: tuple[StreamColumns, ...] = ()
    is_case_sensitive: bool = False
    fails: bool = False
    _found: dict[str, FieldMap | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __bool__(self) -> bool:
        return bool(self.columns)

    def __reduce__(self) -> tuple[type[Columns], tuple[object, ...]]:
        return Columns, (self.columns, self.streams, self.is_case_sensitive, self.fails)

    @cached_property
    def by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def fields(self) -> list[pa.Field]:
        """The columns of rows besides those of all archives; empty without typed columns."""
        if not self.columns:
            return []
        typed = [pa.field(column.name, column.kind) for column in self.columns]
        return [*typed, pa.field(LAYOUT, pa.int32()), pa.field(RESCUED, pa.string())]

    def of(self, stream: str) -> FieldMap | None:
        """Return the columns of a stream, by the first pattern that matches; None without one."""
        one = self._first(stream)
        if one is None:
            return None
        if one.pattern not in self._found:
            fields = [(name, self.by_name[column]) for name, column in one.fields]
            self._found[one.pattern] = FieldMap(fields, self.is_case_sensitive)
        return self._found[one.pattern]

    def unused_patterns(self, streams: Iterable[str]) -> list[str]:
        """Return the patterns that match none of the streams."""
        used = {self._first(stream) for stream in streams}
        return [one.pattern for one in self.streams if one not in used]

    def _first(self, stream: str) -> StreamColumns | None:
        return next((one for one in self.streams if glob(one.pattern).fullmatch(stream)), None)


NO_COLUMNS = Columns()


class FieldMap:
    """The columns of an entry's fields."""

    def __init__(self, fields: Sequence[tuple[str, Column]], is_case_sensitive: bool) -> None:
        self.columns = [column for _, column in fields]
        self._is_case_sensitive = is_case_sensitive
        self._by_name = {self._key(name): column.name for name, column in fields}
        self._layouts: dict[tuple[bytes, ...], Layout] = {}

    def _key(self, name: str) -> str:
        return name if self._is_case_sensitive else name.lower()

    def column_of(self, name: bytes) -> str | None:
        """Return the column of a field; None if it has none."""
        try:
            return self._by_name.get(self._key(name.decode()))
        except UnicodeDecodeError:
            return None

    def layout(self, names: tuple[bytes, ...]) -> Layout:
        """Return the layout of an entry's names.

        If two names differ only by case, the first one has the column. If a name is repeated, its
        last value has it, as in the Spark format.
        """
        found = self._layouts.get(names)
        if found is None:
            if len(self._layouts) >= REMEMBERED_LAYOUTS:
                self._layouts.clear()
            found = self._layouts[names] = self._layout(names)
        return found

    def _layout(self, names: tuple[bytes, ...]) -> Layout:
        columns: list[str | None] = [None] * len(names)
        taken: dict[str, bytes] = {}
        for name in names:
            if (column := self.column_of(name)) is not None:
                taken.setdefault(column, name)
        last = {name: place for place, name in enumerate(names)}
        for column, name in taken.items():
            columns[last[name]] = column
        return Layout(names, tuple(columns))


# -- as text --------------------------------------------------------------------------------------


def to_text(columns: Columns) -> str:
    """Return a schema as the text of the table's property."""
    content = {
        "columns": [
            {name: value for name, value in asdict(column).items() if value is not None}
            for column in columns.columns
        ],
        "streams": {one.pattern: dict(one.fields) for one in columns.streams},
        "caseSensitive": columns.is_case_sensitive,
        "bad": FAIL if columns.fails else RESCUE,
    }
    return json.dumps(content, ensure_ascii=False)


def from_text(text: str) -> Columns:
    """Parse to_text's result. Raises ValueError, KeyError or TypeError for anything else."""
    content = json.loads(text)
    return Columns(
        tuple(Column(**item) for item in content["columns"]),
        tuple(
            StreamColumns(pattern, tuple(fields.items()))
            for pattern, fields in content["streams"].items()
        ),
        bool(content["caseSensitive"]),
        content["bad"] == FAIL,
    )


# -- checks ---------------------------------------------------------------------------------------


def check_name(name: str) -> None:
    """Raise BadColumns for an invalid name of a column."""
    if name.lower() in RESERVED:
        raise BadColumns(
            f"a column cannot be called {name}, as the table has one of its own: "
            f"`{name} AS {name.strip('_')}_field TYPE` gives it another name"
        )
    bad = next((letter for letter in name if letter in FORBIDDEN), None)
    if bad is not None or not name:
        raise BadColumns(
            f"a column cannot be called {name!r}, as Delta has no {bad!r} in names: "
            f"`{name}` AS another_name"
        )


def check_epoch_unit(unit: str) -> None:
    """Raise BadColumns for an unknown unit."""
    if unit not in UNITS_A_SECOND:
        raise BadColumns(f"epochUnit is one of {', '.join(UNITS_A_SECOND)}, not {unit!r}")
