"""Converts entries as the server sends them to Arrow batches: one decoder for each `schemaMode`.

`fields` keeps everything: bytes, duplicates and the order of the fields. `map` has text by name,
the last value of a repeated name, and U+FFFD in place of bytes that are not UTF-8. `columns` gives
each named field a column of its own, with a type; `json` does so with the members of a JSON object
that is an entry's payload.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.arrow import json_columns
from rillway.pipeline.arrow.column_parser import AS_WRITTEN, TimeText, parse
from rillway.pipeline.arrow.schema import (
    CORRUPT,
    FIELDS,
    MAP_MODE,
    ORIGIN,
    ORIGIN_PREFIX,
    PAIR,
    PAIRS,
    RECORD,
    SEQ,
    TEXT_MAP,
    TIMESTAMP,
    arrow_schema,
)
from rillway.pipeline.wire.ids import MS, NONE, NS, US


class FieldColumns:
    """The fields of some entries as columns. The last value of a repeated name counts."""

    def __init__(self, flats: Sequence[Sequence[bytes]]) -> None:
        """`flats`: alternating names and values, as the server sends them."""
        self.flats = flats
        self._names = tuple(flats[0][::2]) if flats else ()
        self._words: list[bytes] = []
        self._layouts: list[Mapping[bytes, int]] = []
        if not self._are_alike():
            known: dict[tuple[bytes, ...], Mapping[bytes, int]] = {}
            for flat in flats:
                names = tuple(flat[::2])
                layout = known.get(names) or known.setdefault(names, places(names))
                self._layouts.append(layout)

    def _are_alike(self) -> bool:
        width = 2 * len(self._names)
        if set(map(len, self.flats)) != {width}:
            return not self.flats
        self._words = list(chain.from_iterable(self.flats))
        return all(
            self._words[2 * place :: width].count(name) == len(self.flats)
            for place, name in enumerate(self._names)
        )

    def values(self, name: bytes) -> list[bytes | None]:
        """Return one value for each entry, None if it has no such field."""
        if self._layouts:
            return [
                None if (place := layout.get(name)) is None else flat[place]
                for flat, layout in zip(self.flats, self._layouts, strict=True)
            ]
        place = places(self._names).get(name)
        if place is None:
            return [None] * len(self.flats)
        return [*self._words[place :: 2 * len(self._names)]]


def places(names: Sequence[bytes]) -> dict[bytes, int]:
    """Return the index of each name's value in a list of alternating names and values."""
    return {name: 2 * place + 1 for place, name in enumerate(names)}


def last_values(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


# [id, [name, value, name, value, ...]]
RawEntry: TypeAlias = list[Any]
# Names may differ in every entry, if they are timestamps for example.
REMEMBERED_NAMES = 1000
TEXT = pa.string()


class Decoder(Protocol):
    """Converts entries. `streams`: the stream of each entry; None if all have the decoder's."""

    def __call__(
        self, entries: Sequence[RawEntry], streams: pa.Array | None = None
    ) -> pa.RecordBatch: ...


class CorruptEntry(ValueError):
    """A field cannot be read as its column's type (`columnParse=failfast`)."""


def repeated(
    values: Sequence[str | int], lengths: Sequence[int], kind: pa.DataType = TEXT
) -> pa.Array:
    """Repeat each value as often as its length says."""
    return pa.concat_arrays(
        [
            pa.repeat(pa.scalar(value, kind), length)
            for value, length in zip(values, lengths, strict=True)
        ]
    )


def origin(
    streams: pa.Array | str,
    entries: Sequence[RawEntry],
    names: Collection[str] = tuple(ORIGIN),
) -> dict[str, pa.Array]:
    """Return those columns among stream, id, ms, seq and ts that are named."""
    columns: dict[str, pa.Array] = {}
    if "stream" in names:
        is_one = isinstance(streams, str)
        columns["stream"] = pa.repeat(streams, len(entries)) if is_one else streams
    if not {"id", "ms", "seq", "ts"}.isdisjoint(names):
        columns["id"] = pa.array([entry[0] for entry in entries], pa.binary()).cast(pa.string())
    if not {"ms", "seq", "ts"}.isdisjoint(names):
        halves = pc.split_pattern(columns["id"], "-")
        columns["ms"] = pc.list_element(halves, 0).cast(pa.int64())
        if "seq" in names:
            columns["seq"] = pc.list_element(halves, 1).cast(pa.uint64()).cast(SEQ)
        if "ts" in names:
            columns["ts"] = timestamps(columns["ms"])
    return columns


LAST_MS = (2**63 - 1) // 1000


def timestamps(ms: pa.Array, unit: str = MS) -> pa.Array:
    """Convert the first halves of IDs to instants, by their unit (wire/ids.py).

    Null if IDs are no times, and for an ID beyond the last instant (year 294247).
    """
    if unit == NONE:
        return pa.nulls(len(ms), TIMESTAMP)
    if unit == US:
        return ms.cast(TIMESTAMP)
    if unit == NS:
        return pc.divide(ms, 1000).cast(TIMESTAMP)
    possible = pc.if_else(pc.less_equal(ms, LAST_MS), ms, pa.scalar(None, pa.int64()))
    return pc.multiply(possible, 1000).cast(TIMESTAMP)


def fields_decoder(stream: str, columns: Sequence[str] | None = None) -> Decoder:
    """Return a decoder for `fields`. `columns`: the names of the wanted ones; None: all."""

    def fields(entries: Sequence[RawEntry]) -> pa.Array:
        flats = [entry[1] for entry in entries]
        words = list(chain.from_iterable(flats))
        names, values = pa.array(words[::2], pa.binary()), pa.array(words[1::2], pa.binary())
        pairs = pa.StructArray.from_arrays([names, values], fields=list(PAIR))
        ends = accumulate([len(flat) >> 1 for flat in flats], initial=0)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs, type=PAIRS)

    return _decoder(stream, arrow_schema(columns=columns), fields)


def _decoder(
    stream: str, schema: pa.Schema, fields: Callable[[Sequence[RawEntry]], pa.Array]
) -> Decoder:
    """Return a decoder of the schema's columns; `fields` makes the column of this name."""

    def decode(entries: Sequence[RawEntry], streams: pa.Array | None = None) -> pa.RecordBatch:
        columns = origin(stream if streams is None else streams, entries, schema.names)
        if FIELDS in schema.names:
            columns[FIELDS] = fields(entries)
        return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    return decode


def map_decoder(stream: str, columns: Sequence[str] | None = None) -> Decoder:
    """Return a decoder for `map`. `columns`: the names of the wanted ones; None: all."""
    # Most entries of a stream have the same names, so duplicates are searched once.
    has_duplicates: dict[tuple[bytes, ...], bool] = {}

    def without_duplicates(flat: list[bytes]) -> list[bytes]:
        names = tuple(flat[::2])
        if names not in has_duplicates:
            if len(has_duplicates) >= REMEMBERED_NAMES:
                has_duplicates.clear()
            has_duplicates[names] = len(set(names)) < len(names)
        if not has_duplicates[names]:
            return flat
        return list(chain.from_iterable(last_values(flat).items()))

    def fields(entries: Sequence[RawEntry]) -> pa.Array:
        flats = [without_duplicates(entry[1]) for entry in entries]
        words = list(chain.from_iterable(flats))
        ends = pa.array(accumulate([len(flat) >> 1 for flat in flats], initial=0), pa.int32())
        pairs = pa.MapArray.from_arrays(ends, texts(words[::2]), texts(words[1::2]))
        return pairs.cast(TEXT_MAP)

    return _decoder(stream, arrow_schema(MAP_MODE, columns), fields)


def texts(values: list[bytes]) -> pa.Array:
    try:
        return pa.array(values, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode(errors="replace") for value in values], pa.string())


def columns_decoder(
    stream: str,
    schema: pa.Schema,
    *,
    strict: bool,
    times: TimeText = AS_WRITTEN,
    payload: Payload | None = None,
) -> Decoder:
    """Return a decoder of columns by field names, and of `_stream`, `_id`, `_ms`, `_seq` and `_ts`.

    `_corrupt` has the names of the fields that could not be read as their columns' types, and
    `_corrupt_record` all fields of such an entry as JSON. A missing field is null. `strict`: raise
    CorruptEntry instead of storing null. `payload`: the columns are members of a JSON object
    instead of fields. Raises ValueError for a schema that cannot be read.
    """
    check_columns(schema)
    read = ColumnReader(times) if payload is None else JsonReader(payload, times)
    origins = [name for name in ORIGIN if ORIGIN_PREFIX + name in schema.names]
    others = {ORIGIN_PREFIX + name for name in ORIGIN} | {CORRUPT, RECORD}
    wanted = [field for field in schema if field.name not in others]

    def decode(entries: Sequence[RawEntry], streams: pa.Array | None = None) -> pa.RecordBatch:
        fields = FieldColumns([entry[1] for entry in entries])
        found_origins = origin(stream if streams is None else streams, entries, origins).items()
        columns = {ORIGIN_PREFIX + name: array for name, array in found_origins}
        found, failed = read.columns(fields, wanted)
        if failed and strict:
            place, names = min(failed.items())
            raise CorruptEntry(
                f"entry {entries[place][0].decode()} of "
                f"{stream if streams is None else streams[place]}: the field {', '.join(names)} is "
                "not of its column's type"
            )
        columns |= found
        if CORRUPT in schema.names:
            marks = [", ".join(failed[n]) if n in failed else None for n in range(len(entries))]
            columns[CORRUPT] = pa.array(marks, pa.string())
        if RECORD in schema.names:
            records = [
                record(last_values(entry[1])) if place in failed else None
                for place, entry in enumerate(entries)
            ]
            columns[RECORD] = pa.array(records, pa.string())
        return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    return decode


def record(fields: Mapping[bytes, bytes]) -> str:
    """Return all fields of an entry as JSON; bytes that are not UTF-8 as \\xHH."""
    texts = {
        name.decode(errors="backslashreplace"): value.decode(errors="backslashreplace")
        for name, value in fields.items()
    }
    return json.dumps(texts, ensure_ascii=False)


# The columns whose values could not be read, by the index of the entry.
Failed: TypeAlias = dict[int, list[str]]


class ColumnReader:
    """Reads each column from the field of its name."""

    def __init__(self, times: TimeText) -> None:
        self._times = times

    def columns(
        self, fields: FieldColumns, wanted: Sequence[pa.Field]
    ) -> tuple[dict[str, pa.Array], Failed]:
        """Return the columns by name, and what could not be read."""
        found: dict[str, pa.Array] = {}
        failed: Failed = {}
        for field in wanted:
            values = pa.array(fields.values(field.name.encode()), pa.binary())
            read = json_columns.parse if pa.types.is_nested(field.type) else parse
            found[field.name], bad = read(values, field.type, self._times)
            for place in bad:
                failed.setdefault(place, []).append(field.name)
        return found, failed


@dataclass(frozen=True, slots=True)
class Payload:
    """The name of the field that holds a JSON object; None for the only field of an entry."""

    field: str | None


class JsonReader:
    """Reads each column from the member of its name in the JSON object of a field."""

    def __init__(self, payload: Payload, times: TimeText) -> None:
        self._field = None if payload.field is None else payload.field.encode()
        self._times = times

    def columns(
        self, fields: FieldColumns, wanted: Sequence[pa.Field]
    ) -> tuple[dict[str, pa.Array], Failed]:
        """Return the columns by name, and what could not be read."""
        failed: Failed = {}
        objects = self._objects(fields, failed)
        found: dict[str, pa.Array] = {}
        for field in wanted:
            members = [content.get(field.name) for content in objects]
            found[field.name], bad = json_columns.column(members, field.type, self._times)
            for place in bad:
                failed.setdefault(place, []).append(field.name)
        return found, failed

    def _objects(self, fields: FieldColumns, failed: Failed) -> list[dict[str, Any]]:
        """Return the object of each entry; an empty one if there is none."""
        objects: list[dict[str, Any]] = []
        for place, (name, text) in enumerate(self._payloads(fields)):
            content: Any = {}
            if text is not None or self._field is None:
                try:
                    content = json_columns.loads(text) if text is not None else None
                except ValueError:
                    content = None
            if not isinstance(content, dict):
                failed[place] = [name.decode(errors="backslashreplace") if name else "(of several)"]
                content = {}
            objects.append(content)
        return objects

    def _payloads(self, fields: FieldColumns) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Return the name and the text of the payload of each entry."""
        if self._field is not None:
            return ((self._field, text) for text in fields.values(self._field))
        return map(_only_field, fields.flats)


def _only_field(flat: Sequence[bytes]) -> tuple[bytes | None, bytes | None]:
    """Return the name and last value of an entry's only name; None if it has several names."""
    if len(flat) == 2:
        return flat[0], flat[1]
    held = last_values(flat)
    return next(iter(held.items())) if len(held) == 1 else (None, None)


def check_columns(schema: pa.Schema) -> None:
    """Check that each column can be read from text and may be null. Raises ValueError."""
    expected = {ORIGIN_PREFIX + name: kind for name, kind in ORIGIN.items()}
    expected |= {CORRUPT: pa.string(), RECORD: pa.string()}
    for field in schema:
        kind = expected.get(field.name)
        if kind is not None and field.type != kind:
            raise ValueError(f"the column {field.name} must have the type {kind}")
        if kind is None and not is_readable(field.type):
            raise ValueError(f"the column {field.name} cannot be read from text: {field.type}")
        if not field.nullable:
            raise ValueError(f"the column {field.name} must allow null: an entry may lack it")


def is_readable(kind: pa.DataType) -> bool:
    """Return True if text or JSON can be read as this type."""
    if json_columns.is_variant(kind):
        return True
    if pa.types.is_struct(kind):
        return all(is_readable(kind.field(place).type) for place in range(kind.num_fields))
    if pa.types.is_map(kind):
        return pa.types.is_string(kind.key_type) and is_readable(kind.item_type)
    if pa.types.is_list(kind):
        return is_readable(kind.value_type)
    tests = (
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_boolean,
        pa.types.is_signed_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_date,
        pa.types.is_timestamp,
    )
    return any(test(kind) for test in tests)
