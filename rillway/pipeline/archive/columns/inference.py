"""Proposes a schema from the newest entries of streams.

A field gets the narrowest type for which all its values are canonical text.

Types are no narrower than Parquet stores them: INT instead of TINYINT, DECIMAL of 9, 18 or 38
digits. A schema has one format of times: that of the first field that holds times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.canonical import canonical
from rillway.pipeline.archive.columns.ddl import quoted
from rillway.pipeline.archive.columns.schema import BadColumns, Column, check_name
from rillway.pipeline.arrow.column_parser import parse

FIXED = ("INT", "BIGINT", "BOOLEAN", "DATE")
DECIMAL_WIDTHS = (9, 18, 38)
PLAIN_DECIMAL = r"^-?[0-9]+\.[0-9]+$"
TIME_FORMATS = (
    None,
    "yyyy-MM-dd'T'HH:mm:ssX",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX",
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSX",
    "yyyy-MM-dd'T'HH:mm:ssxxx",
    "yyyy-MM-dd'T'HH:mm:ss.SSSxxx",
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSxxx",
    "yyyy-MM-dd'T'HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
)


@dataclass(slots=True)
class Samples:
    """The values of fields, by pattern of streams and by name, in order of appearance."""

    fields: dict[str, dict[str, list[bytes]]] = field(default_factory=dict)

    def add(self, pattern: str, entries: Iterable[Sequence[bytes]]) -> None:
        """Add entries. `entries`: alternating names and values of each."""
        found = self.fields.setdefault(pattern, {})
        for words in entries:
            for name, value in zip(words[::2], words[1::2], strict=True):
                try:
                    found.setdefault(name.decode(), []).append(value)
                except UnicodeDecodeError:
                    continue


def proposal(samples: Samples) -> str:
    """Return the YAML of a schema for the samples."""
    merged: dict[str, list[bytes]] = {}
    spelled: dict[str, str] = {}
    for fields in samples.fields.values():
        for name, values in fields.items():
            merged.setdefault(name.lower(), []).extend(values)
            spelled.setdefault(name.lower(), name)
    finder = _Finder()
    types = {
        name: finder.narrowest(pa.array(values, pa.binary())) for name, values in merged.items()
    }
    lines = [] if finder.time_format is None else [f"timestampFormat: {_yaml(finder.time_format)}"]
    lines.append("columns:")
    for pattern, fields in samples.fields.items():
        names = dict.fromkeys(name.lower() for name in fields)
        columns = ", ".join(f"{_named(spelled[name])} {types[name]}" for name in names)
        if columns:
            lines.append(f"  {_yaml(pattern)}: {_yaml(columns)}")
    return "\n".join([*lines, "bad: rescue", ""])


def _yaml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _named(name: str) -> str:
    """Return a field in DDL, with another name for the column if it cannot have the field's."""
    try:
        check_name(name)
        return quoted(name)
    except BadColumns:
        word = "".join(letter if letter.isalnum() else "_" for letter in name)
        return f"{quoted(name)} AS {word.strip('_') or 'empty'}_field"


class _Finder:
    """Finds types. `time_format`: the format of all times, once one was found."""

    def __init__(self) -> None:
        self.time_format: str | None = None
        self._has_time = False

    def narrowest(self, values: pa.Array) -> str:
        for kind in (*FIXED, *_decimals(values)):
            if _takes(Column("", kind), values):
                return kind
        for form in [self.time_format] if self._has_time else TIME_FORMATS:
            if _takes(Column("", "TIMESTAMP", time_format=form), values):
                self._has_time, self.time_format = True, form
                return "TIMESTAMP"
        return next(
            kind for kind in ("DOUBLE", "STRING", "BINARY") if _takes(Column("", kind), values)
        )


def _decimals(values: pa.Array) -> Iterator[str]:
    """Yield DECIMAL types with the scale of the values, if they all have the same."""
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid:
        return
    if not pc.all(pc.match_substring_regex(texts, PLAIN_DECIMAL)).as_py():
        return
    scales = {len(text) - text.index(".") - 1 for text in texts.to_pylist()}
    if len(scales) == 1:
        scale = scales.pop()
        yield from (f"DECIMAL({width},{scale})" for width in DECIMAL_WIDTHS if scale <= width)


def _takes(column: Column, values: pa.Array) -> bool:
    """Return True if each value is the canonical text of a value of the column's type."""
    found, bad = parse(values, column.kind, column.times)
    return not bad and canonical(found, column).equals(values)
