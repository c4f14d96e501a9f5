"""Entries for people and programs: as a table, as lines of JSON, as CSV, as a Parquet file.

Values are bytes. What is UTF-8 is shown as text; other values are {"base64": ...} in JSON and CSV,
and have \\xHH in a table. An entry that has a field's name twice keeps both: its fields are a list
of pairs in JSON.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from rillway.json_bytes import to_json
from rillway.pipeline.query.history import HISTORY_SCHEMA

CSV_COLUMNS = ("stream", "id", "ts")
LAST_TEXT_MS = 253_402_300_799_999  # the end of the year 9999


class Output(Protocol):
    """Takes entries in batches that have the columns of a stream."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def open_output(name: str, file: TextIO, path: Path | None, columns: Sequence[str]) -> Output:
    """`file`: where text goes; `path`: where a Parquet file goes; `columns`: fields for CSV."""
    if name == "parquet":
        assert path is not None
        return ParquetOutput(path)
    if name == "json":
        return JsonOutput(file)
    if name == "csv":
        return CsvOutput(file, columns)
    return TableOutput(file)


class TableOutput:
    """ID, time and fields; the columns are as wide as in the first batch."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._width = 0

    def write(self, batch: pa.RecordBatch) -> None:
        ids = batch.column("id").to_pylist()
        if not self._width:
            self._width = max(map(len, ids), default=0)
            print(f"{'id':<{self._width}}  {'time (UTC)':<23}  fields", file=self._file)
        lines = [
            f"{entry_id:<{self._width}}  {time_text(ms):<23}  {plain(fields)}\n"
            for entry_id, ms, fields in zip(
                ids, batch.column("ms").to_pylist(), pairs_of(batch), strict=True
            )
        ]
        self._file.write("".join(lines))

    def close(self) -> None:
        pass


class JsonOutput:
    """One object for each line: stream, id, fields."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

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
        self._file.write("".join(f"{line}\n" for line in lines))

    def close(self) -> None:
        pass


class CsvOutput:
    """stream, id, ts, and each of the columns asked for; else all fields as JSON."""

    def __init__(self, file: TextIO, columns: Sequence[str]) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._columns = [name.encode() for name in columns]
        self._writer.writerow([*CSV_COLUMNS, *(columns or ("fields",))])

    def write(self, batch: pa.RecordBatch) -> None:
        rows = zip(
            batch.column("stream").to_pylist(),
            batch.column("id").to_pylist(),
            batch.column("ms").to_pylist(),
            pairs_of(batch),
            strict=True,
        )
        for stream, entry_id, ms, fields in rows:
            self._writer.writerow([stream, entry_id, time_text(ms), *self._cells(fields)])

    def _cells(self, fields: list[tuple[bytes, bytes]]) -> list[str]:
        if not self._columns:
            return [to_line(as_json(fields))]
        values = dict(fields)
        found = [values.get(name) for name in self._columns]
        return ["" if value is None else _cell(value) for value in found]

    def close(self) -> None:
        pass


class ParquetOutput:
    """A file with the columns of a stream."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, HISTORY_SCHEMA, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


# -- values ---------------------------------------------------------------------------------------


def pairs_of(batch: pa.RecordBatch) -> list[list[tuple[bytes, bytes]]]:
    """The fields of each entry."""
    return [
        [(pair["name"], pair["value"]) for pair in fields]
        for fields in batch.column("fields").to_pylist()
    ]


def time_text(ms: int) -> str:
    """`2013-01-01 10:15:00.000`; the number where there is no such date."""
    if ms > LAST_TEXT_MS:
        return str(ms)
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d}"


def plain(fields: list[tuple[bytes, bytes]]) -> str:
    """`carrier=UA flight=1545`."""
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


def _cell(value: bytes) -> str:
    text = to_json(value)
    return text if isinstance(text, str) else json.dumps(text)
