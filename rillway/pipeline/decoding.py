"""Entries as they came from the server, to Arrow batches: one decoder for each `schemaMode`.

`fields` keeps what the server keeps: bytes, duplicates and the order of the fields. `map` is text
by name; of a name that is there twice the last, and bytes that are no UTF-8 become U+FFFD.
`columns` gives each named field a column of its own, with a type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.schema import (
    CORRUPT,
    MAP_MODE,
    ORIGIN,
    ORIGIN_PREFIX,
    PAIR,
    PAIRS,
    SEQ,
    TEXT_MAP,
    TIMESTAMP,
    arrow_schema,
)

# [id, [name, value, name, value, ...]]
RawEntry: TypeAlias = list[Any]
Decoder: TypeAlias = Callable[[Sequence[RawEntry]], pa.RecordBatch]


class CorruptEntry(ValueError):
    """A field is not of the type that its column has (`columnParse=failfast`)."""


def origin(stream: str, entries: Sequence[RawEntry]) -> dict[str, pa.Array]:
    """stream, id, ms, seq and ts of entries, by name."""
    ids = pa.array([entry[0] for entry in entries], pa.binary()).cast(pa.string())
    halves = pc.split_pattern(ids, "-")
    ms = pc.list_element(halves, 0).cast(pa.int64())
    return {
        "stream": pa.repeat(stream, len(ids)),
        "id": ids,
        "ms": ms,
        "seq": pc.list_element(halves, 1).cast(pa.uint64()).cast(SEQ),
        "ts": timestamps(ms),
    }


LAST_MS = (2**63 - 1) // 1000


def timestamps(ms: pa.Array) -> pa.Array:
    """Unix ms as instants; null for an ID beyond what an instant can be (year 294247)."""
    possible = pc.if_else(pc.less_equal(ms, LAST_MS), ms, pa.scalar(None, pa.int64()))
    return pc.multiply(possible, 1000).cast(TIMESTAMP)


def fields_decoder(stream: str) -> Decoder:
    schema = arrow_schema()

    def decode(entries: Sequence[RawEntry]) -> pa.RecordBatch:
        flats = [entry[1] for entry in entries]
        words = list(chain.from_iterable(flats))
        names, values = pa.array(words[::2], pa.binary()), pa.array(words[1::2], pa.binary())
        pairs = pa.StructArray.from_arrays([names, values], fields=list(PAIR))
        ends = accumulate([len(flat) >> 1 for flat in flats], initial=0)
        fields = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs, type=PAIRS)
        columns = [*origin(stream, entries).values(), fields]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return decode


def map_decoder(stream: str) -> Decoder:
    schema = arrow_schema(MAP_MODE)

    def decode(entries: Sequence[RawEntry]) -> pa.RecordBatch:
        maps = [last_values(entry[1]) for entry in entries]
        ends = pa.array(accumulate(map(len, maps), initial=0), pa.int32())
        names = texts(list(chain.from_iterable(maps)))
        values = texts(list(chain.from_iterable(each.values() for each in maps)))
        fields = pa.MapArray.from_arrays(ends, names, values).cast(TEXT_MAP)
        columns = [*origin(stream, entries).values(), fields]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return decode


def last_values(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def texts(values: list[bytes]) -> pa.Array:
    try:
        return pa.array(values, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode(errors="replace") for value in values], pa.string())


def columns_decoder(stream: str, schema: pa.Schema, *, strict: bool) -> Decoder:
    """Columns by the names of fields, and of the origin `_stream`, `_id`, `_ms`, `_seq` and `_ts`.

    `_corrupt` has the names of the fields that could not be read as their columns' types.
    A field that an entry has not is null. `strict`: raise CorruptEntry instead of leaving null what
    cannot be read. Raises ValueError for a schema that has `_id` and the like with a wrong type.
    """
    check_columns(schema)
    origins = {ORIGIN_PREFIX + name for name in ORIGIN}

    def decode(entries: Sequence[RawEntry]) -> pa.RecordBatch:
        maps = [last_values(entry[1]) for entry in entries]
        known = {ORIGIN_PREFIX + name: array for name, array in origin(stream, entries).items()}
        failed: dict[int, list[str]] = {}
        columns: dict[str, pa.Array] = {}
        for field in schema:
            if field.name in origins:
                columns[field.name] = known[field.name]
            elif field.name != CORRUPT:
                name = field.name.encode()
                values = pa.array([each.get(name) for each in maps], pa.binary())
                columns[field.name], bad = parse(values, field.type)
                for place in bad:
                    failed.setdefault(place, []).append(field.name)
        if failed and strict:
            place, names = min(failed.items())
            raise CorruptEntry(
                f"entry {entries[place][0].decode()} of {stream}: the field {', '.join(names)} is "
                "not of its column's type"
            )
        if CORRUPT in schema.names:
            marks = [", ".join(failed[n]) if n in failed else None for n in range(len(entries))]
            columns[CORRUPT] = pa.array(marks, pa.string())
        return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    return decode


def check_columns(schema: pa.Schema) -> None:
    """Raises ValueError."""
    expected = {ORIGIN_PREFIX + name: kind for name, kind in ORIGIN.items()}
    for field in schema:
        kind = expected.get(field.name, pa.string() if field.name == CORRUPT else None)
        if kind is not None and field.type != kind:
            raise ValueError(f"the column {field.name} must have the type {kind}")
        if kind is None and not is_scalar(field.type):
            raise ValueError(f"the column {field.name} cannot be read from text: {field.type}")
        if not field.nullable:
            raise ValueError(f"the column {field.name} must allow null: an entry may lack it")


def is_scalar(kind: pa.DataType) -> bool:
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


def parse(values: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Bytes as values of a type, and the places of those that are none; null stays null."""
    try:
        return cast(values, kind), []
    except pa.ArrowInvalid:
        pass  # at least one: find out which
    good: list[Any] = []
    bad: list[int] = []
    for place in range(len(values)):
        try:
            good.append(cast(values.slice(place, 1), kind)[0].as_py())
        except pa.ArrowInvalid:
            good.append(None)
            bad.append(place)
    return pa.array(good, kind), bad


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Raises pa.ArrowInvalid for a value that is none of `kind`."""
    if pa.types.is_binary(kind):
        return values
    text = values.cast(pa.string())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            # Times without a zone are UTC, as the IDs are.
            return text.cast(pa.timestamp("us")).cast(kind)
    return text.cast(kind)
