"""Writes entries as a table, as lines of JSON, as CSV or as a Parquet file.

Typed columns of an archive are written beside the fields. JSON and CSV have all fields; a table
leaves out those that a column shows.

Values are bytes. UTF-8 is shown as text; other values are {"base64": ...} in JSON and CSV, and have
\\xHH in a table. Repeated fields are kept: the fields are then a list of pairs in JSON.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from rillway.json_bytes import to_json
from rillway.pipeline.archive.columns.schema import RESCUED, FieldMap
from rillway.pipeline.query.history import HISTORY_SCHEMA


def json_texts(values: pa.Array) -> list[str]:
    """Return each value in JSON; `null` for null."""
    return [_text(value) for value in plain_values(values)]


def cell_texts(values: pa.Array) -> list[str]:
    """Return each value for people: strings without quotation marks, nothing for null."""
    return [
        "" if value is None else value if isinstance(value, str) else _text(value)
        for value in plain_values(values)
    ]


def plain_values(values: pa.Array) -> list[Any]:
    """Convert to the types of JSON: text, numbers (decimals too), booleans, lists, objects."""
    if pa.types.is_date(values.type):
        # Python's dates have no year 0.
        found: list[Any] = values.cast(pa.string()).to_pylist()
        return found
    return [_plain(value, values.type) for value in values.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {str(name): _plain(item, kind.item_type) for name, item in value}
    if pa.types.is_struct(kind):
        return {name: _plain(item, kind.field(name).type) for name, item in value.items()}
    if pa.types.is_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    if isinstance(value, bytes):
        return to_json(value)
    if isinstance(value, datetime):
        text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
        return (text.rstrip("0") if "." in text else text) + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dict):
        items = (f"{json.dumps(k, ensure_ascii=False)}: {_text(v)}" for k, v in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return json.dumps(value, ensure_ascii=False)


TIME_WIDTH = 23
CSV_COLUMNS = ("stream", "id", "ts")
LAST_TEXT_MS = 253_402_300_799_999  # the end of the year 9999


class Output(Protocol):
    """Writes batches of entries."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def open_output(
    name: str,
    file: TextIO,
    path: Path | None,
    columns: Sequence[str],
    schema: pa.Schema = HISTORY_SCHEMA,
    fields: FieldMap | None = None,
) -> Output:
    """Open an output. `file`: for text; `path`: for a Parquet file; `columns`: those of the CSV.

    `schema`: the batches' schema; `fields`: the fields that have typed columns.
    """
    typed = [each for each in schema.names if each not in (*HISTORY_SCHEMA.names, RESCUED)]
    if name == "parquet":
        assert path is not None
        return ParquetOutput(path, schema)
    if name == "json":
        return JsonOutput(file, typed)
    if name == "csv":
        return CsvOutput(file, columns, typed)
    return TableOutput(file, typed, fields)


class TableOutput:
    """A table of ID, time, typed columns and fields, as wide as the first batch needs."""

    def __init__(self, file: TextIO, typed: Sequence[str], fields: FieldMap | None) -> None:
        self._file, self._typed, self._fields = file, typed, fields
        self._widths: list[int] = []

    def write(self, batch: pa.RecordBatch) -> None:
        times = time_texts(batch)
        columns = [batch.column("id").to_pylist(), times]
        columns += [cell_texts(batch.column(name)) for name in self._typed]
        if not self._widths:
            heads = ["id", "time (UTC)", *self._typed]
            self._widths = [max(map(len, column), default=0) for column in columns]
            self._widths[1] = TIME_WIDTH
            for place, name in enumerate(self._typed, start=2):
                self._widths[place] = max(self._widths[place], len(name))
            self._file.write(self._line([*heads, "fields"]))
        fields = [plain(pairs) for pairs in self._left(batch)]
        self._file.write("".join(map(self._line, zip(*columns, fields, strict=True))))

    def _line(self, cells: Sequence[str]) -> str:
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, self._widths, strict=False)]
        return "  ".join([*padded, cells[-1]]) + "\n"

    def _left(self, batch: pa.RecordBatch) -> Iterator[list[tuple[bytes, bytes]]]:
        """Yield the fields of each entry that no typed column shows."""
        nulls = {name: batch.column(name).is_null().to_pylist() for name in self._typed}
        for row, pairs in enumerate(pairs_of(batch)):
            if self._fields is None:
                yield pairs
                continue
            shown = self._fields.layout(tuple(name for name, _ in pairs)).columns
            yield [
                pair
                for pair, column in zip(pairs, shown, strict=True)
                if column is None or nulls[column][row]
            ]

    def close(self) -> None:
        pass


class JsonOutput:
    """Lines of JSON: stream, id, fields, and columns if there are typed ones."""

    def __init__(self, file: TextIO, typed: Sequence[str]) -> None:
        self._file, self._typed = file, typed

    def write(self, batch: pa.RecordBatch) -> None:
        lines = [
            to_line({"stream": stream, "id": entry_id, "fields": as_json(fields)})
            for stream, entry_id, fields in zip(
                batch.column("stream").to_pylist(),
                batch.column("id").to_pylist(),
                pairs_of(batch),
                strict=True,
            )
        ]
        if self._typed:
            texts = zip(*(json_texts(batch.column(name)) for name in self._typed), strict=True)
            lines = [
                f'{line[:-1]}, "columns": {{{self._columns(each)}}}}}'
                for line, each in zip(lines, texts, strict=True)
            ]
        self._file.write("".join(f"{line}\n" for line in lines))

    def _columns(self, texts: Sequence[str]) -> str:
        pairs = zip(map(to_line, self._typed), texts, strict=True)
        return ", ".join(f"{name}: {text}" for name, text in pairs)

    def close(self) -> None:
        pass


class CsvOutput:
    """CSV with stream, id, ts, and the requested typed columns or fields.

    By default, all typed columns, and all fields as JSON.
    """

    def __init__(self, file: TextIO, columns: Sequence[str], typed: Sequence[str]) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._columns = columns
        self._typed = [name for name in columns or typed if name in typed]
        self._writer.writerow([*CSV_COLUMNS, *(columns or (*typed, "fields"))])

    def write(self, batch: pa.RecordBatch) -> None:
        rows = zip(
            batch.column("stream").to_pylist(),
            batch.column("id").to_pylist(),
            time_texts(batch),
            pairs_of(batch),
            self._typed_cells(batch),
            strict=True,
        )
        for stream, entry_id, time, fields, typed in rows:
            self._writer.writerow([stream, entry_id, time, *self._cells(fields, typed)])

    def _typed_cells(self, batch: pa.RecordBatch) -> list[dict[str, str]]:
        columns = [cell_texts(batch.column(name)) for name in self._typed]
        if not columns:
            return [{}] * len(batch)
        return [dict(zip(self._typed, row, strict=True)) for row in zip(*columns, strict=True)]

    def _cells(self, fields: list[tuple[bytes, bytes]], typed: Mapping[str, str]) -> list[str]:
        if not self._columns:
            return [*typed.values(), to_line(as_json(fields))]
        values = dict(fields)
        return [
            typed[name] if name in typed else _cell(values.get(name.encode()))
            for name in self._columns
        ]

    def close(self) -> None:
        pass


class ParquetOutput:
    """A file with the columns of a stream, typed ones included."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


# -- values ---------------------------------------------------------------------------------------


def pairs_of(batch: pa.RecordBatch) -> list[list[tuple[bytes, bytes]]]:
    """Return the fields of each entry."""
    return [
        [(pair["name"], pair["value"]) for pair in fields]
        for fields in batch.column("fields").to_pylist()
    ]


def time_texts(batch: pa.RecordBatch) -> list[str]:
    """Return the times of entries; empty if an ID is not a time."""
    times = batch.column("ts").cast(pa.int64()).to_pylist()
    return ["" if time is None else time_text(time) for time in times]


def time_text(us: int) -> str:
    """Format `2013-01-01 10:15:00.000`, or with microseconds; Unix ms beyond the calendar."""
    ms, rest = divmod(us, 1000)
    if ms > LAST_TEXT_MS:
        return str(ms)
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d}" + (f"{rest:03d}" if rest else "")


def plain(fields: list[tuple[bytes, bytes]]) -> str:
    """Format fields for people: `carrier=UA flight=1545`."""
    return " ".join(
        f"{name.decode(errors='backslashreplace')}={value.decode(errors='backslashreplace')}"
        for name, value in fields
    )


def as_json(fields: list[tuple[bytes, bytes]]) -> dict[str, Any] | list[list[Any]]:
    names = [name.decode(errors="backslashreplace") for name, _ in fields]
    values = [to_json(value) for _, value in fields]
    by_name = dict(zip(names, values, strict=True))
    if len(by_name) == len(names):
        return by_name
    return [list(pair) for pair in zip(names, values, strict=True)]


def to_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(value: bytes | None) -> str:
    if value is None:
        return ""
    text = to_json(value)
    return text if isinstance(text, str) else json.dumps(text)
