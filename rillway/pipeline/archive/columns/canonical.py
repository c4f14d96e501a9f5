"""The canonical text of a typed value: a value that is written otherwise stays in `fields`.

A value leaves `fields` only if its bytes equal the canonical text of its column, from which the
entry is rebuilt. So that text must never change with the version of Arrow: floating-point numbers
have Python's representation, the shortest that reads as the same number.

`12`, `12.50` in DECIMAL(10,2), `0.1` and `100.0` in DOUBLE, `true`, `2026-01-31`,
`2026-01-31 12:00:00.5` (UTC), or a time in the schema's timestampFormat or epochUnit. Lists, maps
and structs are JSON as JavaScript writes it: no spaces, no needless escapes, the fields of a struct
in the order of its type, without those that are null: `{"sizes":[1,2.50]}`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from json.encoder import encode_basestring as quoted

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.schema import Column
from rillway.pipeline.arrow.column_parser import UNITS_A_SECOND, TimeText

# Arrow writes 0.00000001 as 1E-8.
MAX_PLAIN_SCALE = 6
FLOAT_DIGITS = (6, 7, 8, 9)


def canonical(values: pa.Array, column: Column) -> pa.Array:
    """Return the canonical text of each value as bytes; null stays null."""
    kind = values.type
    if pa.types.is_nested(kind):
        return pa.array(_json(values, column), pa.string()).cast(pa.binary())
    if pa.types.is_timestamp(kind):
        texts = _times(values, column.times)
    elif pa.types.is_decimal(kind) and kind.scale > MAX_PLAIN_SCALE:
        texts = _mapped(values, "{:f}".format)
    elif pa.types.is_float64(kind):
        texts = _mapped(values, repr)
    elif pa.types.is_float32(kind):
        texts = _floats(values)
    elif pa.types.is_binary(kind):
        texts = values
    else:
        texts = values.cast(pa.string())
    return texts.cast(pa.binary())


def _json(values: pa.Array, column: Column) -> list[str | None]:
    """Return the JSON of each list, map, struct, or item of one; None for null."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _objects(values, column)
    if pa.types.is_nested(kind):
        values = values.take(pa.array(range(len(values)), pa.int64()))  # drops items under null
        if pa.types.is_map(kind):
            names = values.keys.to_pylist()
            items = zip(names, _json(values.items, column), strict=True)
            parts = [f"{quoted(name)}:{text or 'null'}" for name, text in items]
            return _joined(values, parts, "{}")
        return _joined(values, [text or "null" for text in _json(values.values, column)], "[]")
    texts: list[str | None] = canonical(values, column).cast(pa.string()).to_pylist()
    if _is_bare(kind, column):
        return texts
    return [None if text is None else quoted(text) for text in texts]


def _is_bare(kind: pa.DataType, column: Column) -> bool:
    """Return True for types without quotation marks: numbers and booleans."""
    if pa.types.is_timestamp(kind):
        return column.times.epoch_unit is not None
    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean
    return any(each(kind) for each in kinds)


def _joined(values: pa.Array, parts: Sequence[str], brackets: str) -> list[str | None]:
    """Join parts to lists or maps."""
    bounds = pairwise(values.offsets.to_pylist())
    return [
        f"{brackets[0]}{','.join(parts[begin:end])}{brackets[1]}" if is_there else None
        for is_there, (begin, end) in zip(values.is_valid().to_pylist(), bounds, strict=True)
    ]


def _objects(values: pa.StructArray, column: Column) -> list[str | None]:
    names = [quoted(field.name) for field in values.type]
    rows = zip(*(_json(member, column) for member in values.flatten()), strict=True)
    found: list[str | None] = []
    for is_there, texts in zip(values.is_valid().to_pylist(), rows, strict=True):
        parts = [f"{name}:{text}" for name, text in zip(names, texts, strict=True) if text]
        found.append("{" + ",".join(parts) + "}" if is_there else None)
    return found


def _mapped(values: pa.Array, text: Callable[[object], str]) -> pa.Array:
    found = [None if value is None else text(value) for value in values.to_pylist()]
    return pa.array(found, pa.string())


def _floats(values: pa.Array) -> pa.Array:
    """Return the shortest text that reads as the same 32-bit number."""
    wide = values.to_pylist()
    found: list[str | None] = [None if value is None else repr(value) for value in wide]
    left = [place for place, value in enumerate(wide) if value is not None]
    for digits in FLOAT_DIGITS:
        texts = [repr(float(f"{wide[place]:.{digits}g}")) for place in left]
        read = pa.array(map(float, texts), pa.float64()).cast(pa.float32(), safe=False)
        same = pc.equal(read, values.take(pa.array(left, pa.int64()))).to_pylist()
        for place, text, is_same in zip(left, texts, same, strict=True):
            if is_same:
                found[place] = text
        left = [place for place, is_same in zip(left, same, strict=True) if not is_same]
    return pa.array(found, pa.string())


def _times(values: pa.Array, times: TimeText) -> pa.Array:
    if times.format is not None:
        return times.format.texts(values)
    if times.epoch_unit is not None:
        factor = 1_000_000 // UNITS_A_SECOND[times.epoch_unit]
        # If a fraction is cut off, the text differs from the value's bytes.
        return pc.divide(values.cast(pa.int64()), factor).cast(pa.string())
    texts = values.cast(pa.timestamp("us")).cast(pa.string())
    return pc.replace_substring_regex(texts, r"\.?0+$", "")  # trailing zeros of the fraction
