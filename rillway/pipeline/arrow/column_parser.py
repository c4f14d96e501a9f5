"""Parses text as values of a column's type, a column at a time, by the rules of Spark's readers.

Most values are written in one plain way, and Arrow converts a column of them at once. In other
columns the plain values are found by a pattern and converted at once, and the rest one by one:
`+5`, `3.0`, `1e3` and a 12 after a space are integers, a decimal is rounded to its scale, a time
without a zone is UTC. So a column with a few bad values is read almost as fast as one without.

Leaves out: arrays, maps, structs and variants, which are JSON (json_columns.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.arrow.time_format import TimeFormat

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
SPECIAL_FLOAT = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
TRUE, FALSE = ("true", "1"), ("false", "0")
# More digits than any decimal has, so that only the decimal's scale rounds.
EXACT = Context(prec=120)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS_A_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000}

# The range of a datetime, in microseconds since 1970.
LEAST_US, GREATEST_US = -62_135_596_800_000_000, 253_402_300_799_999_999

# Patterns of values that are converted at once. A date may still be invalid, such as 2026-02-30.
PLAIN_INTEGER = r"^-?[0-9]{1,18}$"
PLAIN_FLOAT = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$"
PLAIN_BOOLEAN = r"^(true|false)$"
PLAIN_DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
PLAIN_TIME = PLAIN_DATE[:-1] + r"[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
PLAIN_LOCAL_TIME = PLAIN_TIME + "$"
PLAIN_ZONED_TIME = PLAIN_TIME + r"(Z|[+-][0-9]{2}:[0-9]{2})$"


@dataclass(frozen=True, slots=True)
class TimeText:
    """The notation of times.

    `epoch_unit`: s, ms or us, the unit of numbers since 1970; `format`: the only format accepted.
    """

    epoch_unit: str | None = None
    format: TimeFormat | None = None


AS_WRITTEN = TimeText()


def parse(
    values: pa.Array, kind: pa.DataType, times: TimeText = AS_WRITTEN
) -> tuple[pa.Array, list[int]]:
    """Parse bytes as values of a type; also return the indexes that could not be parsed."""
    if pa.types.is_binary(kind):
        return values, []
    texts, bad = as_text(values)
    found, others = parse_texts(texts, kind, times)
    return found, sorted([*bad, *others])


def parse_texts(
    texts: pa.Array, kind: pa.DataType, times: TimeText = AS_WRITTEN
) -> tuple[pa.Array, list[int]]:
    """Parse texts as values of a type; also return the indexes that could not be parsed."""
    if pa.types.is_string(kind):
        return texts, []
    if pa.types.is_timestamp(kind) and times.format is not None:
        return _formatted(texts, kind, times.format)
    epoch_unit = times.epoch_unit if pa.types.is_timestamp(kind) else None
    if epoch_unit is None and (found_all := _all(texts, kind)) is not None:
        return found_all, []
    plain = _plain(texts, kind, epoch_unit)
    read = reader(kind, epoch_unit)
    bad: list[int] = []
    others = texts.is_valid() if plain is None else pc.and_(texts.is_valid(), plain.is_null())
    places = pc.indices_nonzero(others).to_pylist()
    found: dict[int, Any] = {}
    for place in places:
        try:
            found[place] = read(texts[place].as_py())
        except (ValueError, ArithmeticError, TypeError):
            bad.append(place)
    return _filled(plain, found, len(texts), kind), bad


def _formatted(texts: pa.Array, kind: pa.DataType, form: TimeFormat) -> tuple[pa.Array, list[int]]:
    found, bad = parse_texts(iso := form.iso(texts), kind)
    unfit = pc.indices_nonzero(pc.and_(texts.is_valid(), iso.is_null())).to_pylist()
    return found, sorted([*bad, *unfit])


def as_text(values: pa.Array) -> tuple[pa.Array, list[int]]:
    """Decode bytes as text; also return the indexes that are not UTF-8, which are null."""
    try:
        return values.cast(pa.string()), []
    except pa.ArrowInvalid:
        pass
    texts: list[str | None] = []
    bad: list[int] = []
    for place, value in enumerate(values.to_pylist()):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            texts.append(None)
            bad.append(place)
    return pa.array(texts, pa.string()), bad


def _filled(
    plain: pa.Array | None, found: dict[int, Any], rows: int, kind: pa.DataType
) -> pa.Array:
    """Return the plain values, filled with those that were converted one by one."""
    if plain is None:
        return pa.array([found.get(place) for place in range(rows)], kind)
    if not found:
        return plain
    marks, others = [False] * rows, [None] * rows
    for place, value in found.items():
        marks[place], others[place] = True, value
    return pc.if_else(pa.array(marks), pa.array(others, kind), plain)


# -- all at once ---------------------------------------------------------------------------------


def _all(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return the values if Arrow can read all of them; otherwise None."""
    try:
        if pa.types.is_integer(kind):
            # Arrow also reads 0x1f.
            marks = [pc.any(pc.match_substring(texts, letter)).as_py() for letter in "xX"]
            return None if any(marks) else texts.cast(kind)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            try:
                return texts.cast(kind)
            except pa.ArrowInvalid:
                # Times without a zone are UTC, as the IDs are.
                return texts.cast(pa.timestamp("us")).cast(kind)
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _plain(texts: pa.Array, kind: pa.DataType, epoch_unit: str | None) -> pa.Array | None:
    """Return the values that are written plainly, null for others; None if that fails."""
    try:
        if pa.types.is_integer(kind):
            return _integers(_matching(texts, PLAIN_INTEGER).cast(pa.int64()), kind)
        if pa.types.is_floating(kind):
            return _matching(texts, PLAIN_FLOAT).cast(pa.float64()).cast(kind, safe=False)
        if pa.types.is_boolean(kind):
            return _matching(texts, PLAIN_BOOLEAN).cast(kind)
        if pa.types.is_decimal(kind):
            return _matching(texts, _plain_decimal(kind)).cast(kind)
        if pa.types.is_date(kind):
            return _matching(texts, PLAIN_DATE).cast(kind)
        if pa.types.is_timestamp(kind):
            return _times(texts, kind) if epoch_unit is None else _epochs(texts, kind, epoch_unit)
    except pa.ArrowInvalid:
        pass
    return None


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    matches = pc.match_substring_regex(texts, pattern)
    return pc.if_else(matches, texts, pa.scalar(None, pa.string()))


def _integers(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    if kind.bit_width == 64:
        return numbers
    limit = 1 << (kind.bit_width - 1)
    fits = pc.and_(pc.greater_equal(numbers, -limit), pc.less(numbers, limit))
    return pc.if_else(fits, numbers, pa.scalar(None, pa.int64())).cast(kind)


def _plain_decimal(kind: pa.DataType) -> str:
    whole = max(kind.precision - kind.scale, 1)
    fraction = rf"(\.[0-9]{{1,{kind.scale}}})?" if kind.scale else ""
    if whole > kind.precision - kind.scale:
        return rf"^-?0{fraction}$"
    return rf"^-?[0-9]{{1,{whole}}}{fraction}$"


def _times(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    local = _matching(texts, PLAIN_LOCAL_TIME).cast(pa.timestamp("us")).cast(kind)
    if local.null_count == texts.null_count:
        return local
    zoned = _matching(texts, PLAIN_ZONED_TIME).cast(pa.timestamp("us", "UTC"))
    return pc.coalesce(local, zoned.cast(kind) if kind.tz else zoned.cast(pa.timestamp("us")))


def _epochs(texts: pa.Array, kind: pa.DataType, unit: str) -> pa.Array:
    factor = 1_000_000 // UNITS_A_SECOND[unit]
    numbers = _matching(texts, PLAIN_INTEGER).cast(pa.int64())
    fits = pc.and_(
        pc.greater_equal(numbers, -(-LEAST_US // factor)),
        pc.less_equal(numbers, GREATEST_US // factor),
    )
    moments = pc.if_else(fits, numbers, pa.scalar(None, pa.int64()))
    return pc.multiply(moments, factor).cast(kind)


# -- one by one ----------------------------------------------------------------------------------


def reader(kind: pa.DataType, epoch_unit: str | None = None) -> Callable[[str], Any]:
    """Return a function that reads one text; it raises ValueError or ArithmeticError."""
    if pa.types.is_integer(kind):
        return lambda text: integer(text, kind.bit_width)
    if pa.types.is_floating(kind):
        return floating
    if pa.types.is_boolean(kind):
        return boolean
    if pa.types.is_decimal(kind):
        return lambda text: decimal(text, kind.precision, kind.scale)
    if pa.types.is_date(kind):
        return lambda text: date.fromisoformat(text.strip())
    return lambda text: instant(text, epoch_unit, has_zone=kind.tz is not None)


def _number(text: str) -> str:
    text = text.strip()
    if not NUMBER.fullmatch(text):
        raise ValueError(f"not a number: {text!r}")
    return text


def integer(text: str, bits: int) -> int:
    number = Decimal(_number(text))
    if number.adjusted() > 20 or number != number.to_integral_value():
        raise ValueError(f"not a whole number: {text!r}")
    return _within(int(number), bits)


def _within(number: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"more than {bits} bits: {number}")
    return number


def floating(text: str) -> float:
    text = text.strip()
    return float(text if SPECIAL_FLOAT.fullmatch(text) else _number(text))


def boolean(text: str) -> bool:
    text = text.strip().lower()
    if text not in (*TRUE, *FALSE):
        raise ValueError(f"neither true nor false: {text!r}")
    return text in TRUE


def decimal(text: str, precision: int, scale: int) -> Decimal:
    return rounded(Decimal(_number(text)), precision, scale)


def rounded(number: Decimal, precision: int, scale: int) -> Decimal:
    found = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    if found and found.adjusted() + scale >= precision:
        raise ValueError(f"more than {precision} digits: {number}")
    return found


def instant(text: str, epoch_unit: str | None = None, *, has_zone: bool = True) -> datetime:
    text = text.strip()
    if epoch_unit is not None and NUMBER.fullmatch(text):
        microseconds = Decimal(text) * (1_000_000 // UNITS_A_SECOND[epoch_unit])
        moment = EPOCH + timedelta(microseconds=int(microseconds))
    else:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        moment = moment.astimezone(UTC)
    return moment if has_zone else moment.replace(tzinfo=None)
