"""The one text of a value that its column stands for: what has another text stays in `fields`.

A value leaves `fields` only if its canonical text equals its bytes, and that text is made again
when the entry is read. So it must never change, whatever the version of Arrow: of numbers with a
point it is Python's own, the shortest that reads as the same number.

`12`, `12.50` in DECIMAL(10,2), `0.1` and `100.0` in DOUBLE, `true`, `2026-01-31`,
`2026-01-31 12:00:00.5` (UTC), or a time as the schema's timestampFormat or epochUnit has it. Lists,
maps and structs have none.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.schema import Column
from rillway.pipeline.arrow.column_parser import UNITS_A_SECOND, TimeText

# Arrow writes 0.00000001 as 1E-8.
MAX_PLAIN_SCALE = 6
FLOAT_DIGITS = (6, 7, 8, 9)


def canonical(values: pa.Array, column: Column) -> pa.Array:
    """The bytes of each value; null stays null."""
    kind = values.type
    if pa.types.is_nested(kind):
        return pa.nulls(len(values), pa.binary())
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


def _mapped(values: pa.Array, text: Callable[[object], str]) -> pa.Array:
    found = [None if value is None else text(value) for value in values.to_pylist()]
    return pa.array(found, pa.string())


def _floats(values: pa.Array) -> pa.Array:
    """The shortest text that reads as the same number of 32 bits."""
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
        # What is cut off makes the text another one than that of the value.
        return pc.divide(values.cast(pa.int64()), factor).cast(pa.string())
    texts = values.cast(pa.timestamp("us")).cast(pa.string())
    return pc.replace_substring_regex(texts, r"\.?0+$", "")  # those of the fraction
