"""Applies a requested schema, from `--schema` or a YAML file, to the columns of an archive.

Columns are added and never changed, because rows have them. A column that is no longer requested is
no longer written. A request that would change a column is refused with an alternative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rillway.command_line.parser import did_you_mean
from rillway.pipeline.archive.columns.ddl import Declared, parse_columns, quoted, type_text
from rillway.pipeline.archive.columns.schema import (
    FAIL,
    RESCUE,
    BadColumns,
    Column,
    Columns,
    StreamColumns,
    check_epoch_unit,
    check_name,
)
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.arrow.time_format import TimeFormat

COLUMNS, BAD, CASE_SENSITIVE = "columns", "bad", "caseSensitive"
TIME_FORMAT, EPOCH_UNIT = "timestampFormat", "epochUnit"
MAX_ATTEMPTS = 5
KEYS = (COLUMNS, BAD, CASE_SENSITIVE, TIME_FORMAT, EPOCH_UNIT)


@dataclass(frozen=True, slots=True)
class Request:
    """The requested columns of each pattern, and settings; None: as in the table, else default."""

    streams: Mapping[str, Sequence[Declared]]
    epoch_unit: str | None = None
    time_format: str | None = None
    fails: bool | None = None
    is_case_sensitive: bool = False


def from_options(texts: Iterable[str], *, is_case_sensitive: bool = False) -> Request:
    """Parse texts such as `orders:*=customer STRING, amount DECIMAL(10,2)`. Raises BadColumns."""
    streams: dict[str, list[Declared]] = {}
    for text in texts:
        pattern, sign, columns = text.partition("=")
        if not sign or not pattern.strip():
            raise BadColumns(f"expected PATTERN=COLUMN TYPE, ..., not {text!r}")
        streams.setdefault(pattern.strip(), []).extend(_parsed(pattern.strip(), columns))
    return Request(streams, is_case_sensitive=is_case_sensitive)


def from_file(path: Path, *, is_case_sensitive: bool = False) -> Request:
    """Read a request from a YAML file. Raises BadColumns, OSError."""
    import yaml  # type: ignore[import-untyped]

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadColumns(f"{path}: {' '.join(str(error).split())}") from None
    try:
        return _from_content(content, is_case_sensitive)
    except BadColumns as error:
        raise BadColumns(f"{path}: {error}") from None


def _from_content(content: Any, is_case_sensitive: bool) -> Request:
    if not isinstance(content, dict) or not isinstance(content.get(COLUMNS), dict):
        raise BadColumns(f"expected {COLUMNS}: with a pattern of streams and its columns in a line")
    for key in content:
        if key not in KEYS:
            raise BadColumns(f"there is no {key}.{did_you_mean(str(key), KEYS)}")
    bad, case = content.get(BAD, RESCUE), content.get(CASE_SENSITIVE, False)
    if bad not in (RESCUE, FAIL):
        raise BadColumns(f"{BAD} is {RESCUE} or {FAIL}, not {bad!r}")
    if not isinstance(case, bool):
        raise BadColumns(f"{CASE_SENSITIVE} is true or false, not {case!r}")
    return Request(
        {
            str(pattern): _parsed(str(pattern), str(text))
            for pattern, text in content[COLUMNS].items()
        },
        _text(content, EPOCH_UNIT),
        _text(content, TIME_FORMAT),
        bad == FAIL,
        is_case_sensitive or case,
    )


def _text(content: Mapping[str, Any], key: str) -> str | None:
    return None if content.get(key) is None else str(content[key])


def _parsed(pattern: str, text: str) -> list[Declared]:
    try:
        return parse_columns(text)
    except ValueError as error:
        raise BadColumns(f"{pattern}: {error}") from None


# -- applying it ----------------------------------------------------------------------------------


def evolved(present: Columns, table: pa.Schema, request: Request) -> Columns:
    """Return the columns of an archive after a request. Raises BadColumns.

    `table`: the schema of the table, with all its columns.
    """
    _check_times(request)
    columns = {column.name.lower(): column for column in present.columns}
    others = {field.name.lower(): field for field in table}
    asked: dict[str, str] = {}
    streams = []
    for pattern, declared in request.streams.items():
        fields: dict[str, str] = {}
        for one in declared:
            check_name(one.name)
            key = one.name.lower()
            wanted = _column(one, request, columns.get(key))
            _check_type(pattern, wanted, columns.get(key), others.get(key), asked.get(key))
            asked.setdefault(key, pattern)
            column = columns.setdefault(key, wanted)
            if column.name in fields.values():
                raise BadColumns(f"{pattern}: two fields cannot have the column {column.name}")
            if one.field in fields:
                raise BadColumns(f"{pattern}: the field {one.field} cannot have two columns")
            fields[one.field] = column.name
        streams.append(StreamColumns(pattern, tuple(fields.items())))
    fails = present.fails if request.fails is None else request.fails
    return Columns(tuple(columns.values()), tuple(streams), request.is_case_sensitive, fails)


def set_columns(table: ArchiveTable, request: Request) -> None:
    """Set the requested columns of a table. Raises BadColumns, ArchiveError."""
    for attempt in range(MAX_ATTEMPTS):
        wanted = evolved(table.columns, table.schema, request)
        if wanted == table.columns:
            return
        try:
            table.set_columns(wanted)
        except ArchiveError:  # another archiver may have set them
            if attempt + 1 == MAX_ATTEMPTS:
                raise
            table.refresh()


def _check_times(request: Request) -> None:
    if request.epoch_unit is not None and request.time_format is not None:
        raise BadColumns(f"{TIME_FORMAT} and {EPOCH_UNIT} do not go together")
    if request.epoch_unit is not None:
        check_epoch_unit(request.epoch_unit)
    if request.time_format is not None:
        try:
            TimeFormat(request.time_format)
        except ValueError as error:
            raise BadColumns(f"{TIME_FORMAT}: {error}") from None


def _column(one: Declared, request: Request, before: Column | None) -> Column:
    """Return the requested column; the format of times stays unless the request sets it."""
    text = type_text(one.kind)
    if "TIMESTAMP" not in text:
        return Column(one.name, text)
    unit, form = request.epoch_unit, request.time_format
    if unit is None and form is None and before is not None:
        unit, form = before.epoch_unit, before.time_format
    return Column(one.name, text, unit, form)


def _check_type(
    pattern: str, wanted: Column, before: Column | None, found: pa.Field | None, other: str | None
) -> None:
    """Refuse to change the type of a column.

    `found`: the table's column of that name; `other`: another pattern that requests it.
    """
    name = wanted.name
    way_out = f"`{quoted(name)} AS another_name {wanted.type}` makes a column beside it"
    if before is None:
        if found is not None and _text_of(found.type) != wanted.type:
            raise BadColumns(
                f"{pattern}: the table has a column {found.name} already, {_text_of(found.type)}: "
                f"{way_out}"
            )
        return
    if before.type != wanted.type:
        where = "in the table" if other is None else f"of {other}"
        raise BadColumns(
            f"{pattern}: {name} is {before.type} {where}, and a column has one type for all rows: "
            f"{way_out}"
        )
    if (before.epoch_unit, before.time_format) != (wanted.epoch_unit, wanted.time_format):
        raise BadColumns(
            f"{pattern}: times of {name} are written as {_form(before)} in existing rows, "
            f"and cannot become {_form(wanted)}: {way_out}"
        )


def _text_of(kind: pa.DataType) -> str:
    try:
        return type_text(kind)
    except KeyError:  # no schema can request it
        return str(kind)


def _form(column: Column) -> str:
    if column.time_format is not None:
        return repr(column.time_format)
    if column.epoch_unit is not None:
        return f"numbers in {column.epoch_unit}"
    return "2026-01-31 12:00:00"
