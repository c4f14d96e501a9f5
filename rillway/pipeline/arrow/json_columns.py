"""Converts JSON values to columns of a type, nested types included, a column at a time.

A string is parsed like the text of a field: 12 and "12" are the same. If a part of a list, map or
struct has the wrong type, the whole value is invalid.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from rillway.pipeline.arrow.column_parser import AS_WRITTEN, TimeText, as_text, parse_texts

# Created once: loads and dumps would create them for each value.
DECODER: Any = json.JSONDecoder(parse_float=Decimal)
ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def loads(text: bytes) -> Any:
    """Parse JSON, fractions as decimals. Raises ValueError."""
    try:
        content = text.decode()
        value, end = DECODER.scan_once(content, 0)
        if end == len(content):
            return value
    except (ValueError, StopIteration):
        pass
    return json.loads(text, parse_float=Decimal)  # with spaces around it, or in UTF-16


def column(
    values: Sequence[Any], kind: pa.DataType, times: TimeText = AS_WRITTEN
) -> tuple[pa.Array, list[int]]:
    """Return the column, and the indexes of invalid values; null stays null."""
    found, bad = _column(values, kind, times)
    if bad and pa.types.is_nested(kind):
        # An invalid part makes its whole value invalid.
        found, _ = _column(without(values, bad), kind, times)
    return found, sorted(bad)


def parse(
    values: pa.Array, kind: pa.DataType, times: TimeText = AS_WRITTEN
) -> tuple[pa.Array, list[int]]:
    """Parse texts of JSON; return the column, and the indexes of invalid values."""
    contents: list[Any] = []
    bad: list[int] = []
    for place, text in enumerate(values.to_pylist()):
        try:
            contents.append(None if text is None else loads(text))
        except ValueError:
            contents.append(None)
            bad.append(place)
    found, others = column(contents, kind, times)
    return found, sorted([*bad, *others])


def without(values: Sequence[Any], bad: set[int]) -> list[Any]:
    return [None if place in bad else value for place, value in enumerate(values)]


def _column(values: Sequence[Any], kind: pa.DataType, times: TimeText) -> tuple[pa.Array, set[int]]:
    if is_variant(kind):
        return _variants(values, kind)
    if pa.types.is_struct(kind):
        return _structs(values, kind, times)
    if pa.types.is_map(kind):
        return _maps(values, kind, times)
    if pa.types.is_list(kind):
        return _lists(values, kind, times)
    bad: set[int] = set()
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        values, bad = _only((str, int, float, Decimal, bool), values)
    texts, unwritable = as_text(pa.array(_texts(values), pa.binary()))
    if pa.types.is_binary(kind):
        return texts.cast(kind), bad.union(unwritable)
    found, others = parse_texts(texts, kind, times)
    return found, bad.union(unwritable, others)


def _only(kinds: type | tuple[type, ...], values: Sequence[Any]) -> tuple[Sequence[Any], set[int]]:
    """Return the values of these types, null for others, and the indexes of the others."""
    bad = {
        place
        for place, value in enumerate(values)
        if value is not None and not isinstance(value, kinds)
    }
    return (without(values, bad), bad) if bad else (values, bad)


def _texts(values: Sequence[Any]) -> list[bytes | None]:
    return [
        None
        if value is None
        else (value if type(value) is str else TEXTS[type(value)](value)).encode(
            errors="surrogatepass"
        )
        for value in values
    ]


def _structs(
    values: Sequence[Any], kind: pa.StructType, times: TimeText
) -> tuple[pa.Array, set[int]]:
    values, bad = _only(dict, values)
    fields = [kind.field(place) for place in range(kind.num_fields)]
    columns: list[pa.Array] = []
    for field in fields:
        members = [None if each is None else each.get(field.name) for each in values]
        found, others = _column(members, field.type, times)
        columns.append(found)
        bad |= others
    nulls = pa.array([each is None for each in values], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=fields, mask=nulls), bad


def _lists(values: Sequence[Any], kind: pa.ListType, times: TimeText) -> tuple[pa.Array, set[int]]:
    values, bad = _only(list, values)
    items, others = _column(_flat(values), kind.value_type, times)
    return pa.ListArray.from_arrays(_offsets(values), items, type=kind), bad | _rows(values, others)


def _maps(values: Sequence[Any], kind: pa.MapType, times: TimeText) -> tuple[pa.Array, set[int]]:
    values, bad = _only(dict, values)
    names, unwritable = _column(_flat(values), kind.key_type, times)
    members = list(chain.from_iterable(each.values() for each in values if each))
    items, others = _column(members, kind.item_type, times)
    if unwritable:  # Arrow refuses null as a key
        bad |= _rows(values, unwritable)
        found, more = _maps(without(values, bad), kind, times)
        return found, bad | more
    found = pa.MapArray.from_arrays(_offsets(values), names, items)
    return found.cast(kind), bad | _rows(values, others)


def _variants(values: Sequence[Any], kind: pa.DataType) -> tuple[pa.Array, set[int]]:
    from pyspark.sql.types import VariantVal

    found: list[dict[str, bytes] | None] = []
    bad: set[int] = set()
    for place, value in enumerate(values):
        try:
            if value is not None:
                held = VariantVal.parseJson(to_json(value))
                value = {"value": bytes(held.value), "metadata": bytes(held.metadata)}
            found.append(value)
        except (ValueError, ArithmeticError, TypeError):
            found.append(None)
            bad.add(place)
    return pa.array(found, kind), bad


def _flat(values: Sequence[Any]) -> list[Any]:
    return list(chain.from_iterable(each for each in values if each))


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Return the offsets of lists; null for a null list."""
    ends = accumulate((len(each) if each else 0 for each in values), initial=0)
    return pa.array(
        [None if each is None else end for each, end in zip([*values, ()], ends, strict=True)],
        pa.int32(),
    )


def _rows(values: Sequence[Any], places: set[int]) -> set[int]:
    """Return the rows that have the items at some indexes."""
    if not places:
        return set()
    rows = [row for row, each in enumerate(values) for _ in each or ()]
    return {rows[place] for place in places}


# -- JSON as text ---------------------------------------------------------------------------------


def is_variant(kind: pa.DataType) -> bool:
    """Return True if the type is the struct that Spark passes for a variant."""
    if not pa.types.is_struct(kind):
        return False
    fields = [kind.field(place) for place in range(kind.num_fields)]
    return any((field.metadata or {}).get(b"variant") == b"true" for field in fields)


def to_json(value: Any) -> str:
    """Return JSON, with decimals as numbers, digits unchanged."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        items = ",".join(f"{json.dumps(name)}:{to_json(item)}" for name, item in value.items())
        return f"{{{items}}}"
    if isinstance(value, list):
        return f"[{','.join(map(to_json, value))}]"
    return ENCODE(value)


TEXTS: dict[type, Callable[[Any], str]] = {
    **dict.fromkeys((dict, list, float), to_json),
    bool: {True: "true", False: "false"}.__getitem__,
    **dict.fromkeys((int, Decimal), str),
}
