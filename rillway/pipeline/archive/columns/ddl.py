"""Parses columns in Spark's DDL: `customer STRING, amount AS price DECIMAL(10,2)`.

Spark's own parser exists only in the JVM. The types are those of Delta without table features:
scalars, DECIMAL, DATE, TIMESTAMP, BINARY, and ARRAY, MAP and STRUCT of these. `AS` gives the column
another name than the field; names that are not words are in backticks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from rillway.pipeline.arrow.schema import TIMESTAMP
from rillway.pipeline.ranges.conditions import quoted_name

TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|(\w+)|([(),<>:]))")
SCALARS = {
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": TIMESTAMP,
}
SYNONYMS = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
NAMES = {kind: name for name, kind in SCALARS.items()}
MAX_PRECISION = 38
DEFAULT_DECIMAL = (10, 0)
EXPECTED = ", ".join([*SCALARS, "DECIMAL(10,2)", "ARRAY<...>", "MAP<STRING, ...>", "STRUCT<...>"])


@dataclass(frozen=True, slots=True)
class Declared:
    """A requested column: the field, the name of the column, the type."""

    field: str
    name: str
    kind: pa.DataType


def parse_columns(text: str) -> list[Declared]:
    """Parse a list of columns. Raises ValueError."""
    tokens = _Tokens(text)
    found = [_declared(tokens)]
    while tokens.take(","):
        found.append(_declared(tokens))
    tokens.finish()
    return found


@lru_cache(maxsize=1000)
def parse_type(text: str) -> pa.DataType:
    """Parse a type. Raises ValueError."""
    tokens = _Tokens(text)
    kind = _type(tokens)
    tokens.finish()
    return kind


def type_text(kind: pa.DataType) -> str:
    """Return a type in the form that `parse_type` reads."""
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        return f"ARRAY<{type_text(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    if pa.types.is_struct(kind):
        members = [kind.field(place) for place in range(kind.num_fields)]
        return f"STRUCT<{', '.join(f'{quoted(m.name)}: {type_text(m.type)}' for m in members)}>"
    return NAMES[kind]


def quoted(name: str) -> str:
    """Return a name in DDL: in backticks unless it is a word."""
    return name if re.fullmatch(r"\w+", name) else quoted_name(name)


class _Tokens:
    """The tokens of a text, read from the beginning."""

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        self._at = 0
        self._found: re.Match[str] | None = None
        self._advance()

    def _advance(self) -> None:
        if self._found is not None:
            self._at = self._found.end()
        self._found = TOKEN.match(self._text, self._at)

    @property
    def _rest(self) -> str:
        return self._text[self._at :].strip()

    def take(self, *words: str) -> bool:
        """Skip one of some words or signs, in upper case; return False if none of them is next."""
        found = self._found
        if (
            found is None
            or found[1] is not None
            or found[found.lastindex or 0].upper() not in words
        ):
            return False
        self._advance()
        return True

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise self.error(f"expected {sign!r}")

    def name(self) -> str:
        found = self._found
        if found is None or found[3] is not None:
            raise self.error("expected a name (in backticks if it is no word)")
        self._advance()
        return found[2] if found[1] is None else found[1].replace("``", "`")

    def word(self) -> str:
        found = self._found
        if found is None or found[2] is None:
            raise self.error("expected a type")
        self._advance()
        return found[2]

    def finish(self) -> None:
        if self._rest:
            raise self.error("expected a comma or the end")

    def error(self, expected: str) -> ValueError:
        return ValueError(
            f"{expected}, not {self._rest[:40]!r}" if self._rest else f"{expected} at the end"
        )


def _declared(tokens: _Tokens) -> Declared:
    field = tokens.name()
    name = tokens.name() if tokens.take("AS") else field
    return Declared(field, name, _type(tokens))


def _type(tokens: _Tokens) -> pa.DataType:
    word = tokens.word()
    name = SYNONYMS.get(word.upper(), word.upper())
    if name in SCALARS:
        return SCALARS[name]
    if name == "DECIMAL":
        return _decimal(tokens)
    if name == "ARRAY":
        tokens.expect("<")
        item = _type(tokens)
        tokens.expect(">")
        return pa.list_(pa.field("element", item))
    if name == "MAP":
        return _map(tokens)
    if name == "STRUCT":
        return _struct(tokens)
    raise ValueError(f"there is no type {word}; there are {EXPECTED}")


def _decimal(tokens: _Tokens) -> pa.DataType:
    precision, scale = DEFAULT_DECIMAL
    if tokens.take("("):
        precision = _digits(tokens)
        scale = _digits(tokens) if tokens.take(",") else 0
        tokens.expect(")")
    if not 1 <= precision <= MAX_PRECISION or scale > precision:
        raise ValueError(
            f"DECIMAL({precision},{scale}): expected 1 to {MAX_PRECISION} digits, and not more of "
            "them after the point"
        )
    return pa.decimal128(precision, scale)


def _digits(tokens: _Tokens) -> int:
    text = tokens.word()
    if not text.isdecimal():
        raise ValueError(f"expected a number of digits, not {text!r}")
    return int(text)


def _map(tokens: _Tokens) -> pa.DataType:
    tokens.expect("<")
    key = _type(tokens)
    tokens.expect(",")
    item = _type(tokens)
    tokens.expect(">")
    if not pa.types.is_string(key):
        raise ValueError("the keys of a MAP are STRING, as those of JSON are")
    return pa.map_(key, item)


def _struct(tokens: _Tokens) -> pa.DataType:
    tokens.expect("<")
    members = []
    while True:
        name = tokens.name()
        tokens.take(":")
        members.append(pa.field(name, _type(tokens)))
        if not tokens.take(","):
            break
    tokens.expect(">")
    return pa.struct(members)
