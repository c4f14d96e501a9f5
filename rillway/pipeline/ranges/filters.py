"""Conditions of `rillway query --where` that are evaluated without Spark.

Spark takes ten seconds to start. This is a subset of its SQL with the same meaning: comparisons of
texts (`stream`, `id`, `fields['name']`), numbers (`ms`, `epoch`) and times (`ts`) with literals or
with each other, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT. Typed columns may be texts, integers or,
without IN, decimals, times or dates. A missing field is null, and so is a comparison with it. Texts
are compared as bytes, as in Spark. Times are in ISO 8601, in UTC unless they have a zone. The last
value of a repeated name counts.

Everything else is left to Spark: functions, arithmetic, comparisons of a number with a text.

A condition also says which columns it needs, and by the least and greatest values of a file or a
row group whether it can hold for any of its rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial, reduce
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rillway.command_line.parser import did_you_mean
from rillway.pipeline.arrow.schema import FIELDS, TIMESTAMP
from rillway.pipeline.ranges.conditions import TIME as TIME_TEXT
from rillway.pipeline.ranges.conditions import Token, tokens

# The least and the greatest value of a column, by its name; None if they are unknown.
Bounds: TypeAlias = Callable[[str], "tuple[Any, Any] | None"]
# Whether a condition may be true, and whether it may be false, for a row within bounds.
Possible: TypeAlias = tuple[bool, bool]
UNKNOWN: Possible = True, True
TEXT, NUMBER, DECIMAL, TIME, DATE = "text", "number", "decimal", "time", "date"
TEXTS, NUMBERS, TS = ("stream", "id"), ("ms", "epoch"), "ts"
# Formats that Spark accepts as well.
COLUMNS = (*TEXTS, *NUMBERS, TS, "seq", "fields", "raw")
COMPARISONS = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
LAST_NUMBER = (1 << 63) - 1
# To compare decimals, Arrow needs room for all digits before and after the point.
MAX_DIGITS = 38
LONG_DIGITS = 19, 0
# The largest offset that Spark accepts.
MAX_ZONE_HOURS = 17


class NeedsSpark(Exception):
    """The condition uses something that only Spark supports; the message says what."""

    def __init__(self, what: str = "this condition") -> None:
        super().__init__(what)


class UnknownColumn(Exception):
    """The condition names an unknown column; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition: truth values of the rows of a batch. `names`: the columns that it needs."""

    of: Callable[[pa.RecordBatch], pa.Array]
    names: frozenset[str]
    possible: Callable[[Bounds], Possible] = lambda bounds: UNKNOWN

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        return self.of(batch)

    def may_hold(self, bounds: Bounds) -> bool:
        """Return False if it holds for no row within bounds."""
        try:
            return self.possible(bounds)[0]
        except TypeError:  # bounds of another type
            return True


@dataclass(frozen=True, slots=True)
class _Value:
    """An operand. `digits`: of a number, before and after the point; `literal`: a quoted text.

    `of`: its values, texts as bytes; `name`: the column, empty for a constant, whose value is
    `constant` if Python has such a one.
    """

    kind: str
    of: Callable[[pa.RecordBatch], pa.Array]
    digits: tuple[int, int] = LONG_DIGITS
    literal: str | None = None
    name: str = ""
    constant: Any = None

    @property
    def names(self) -> frozenset[str]:
        return frozenset([self.name] if self.name else [])

    def range(self, bounds: Bounds) -> tuple[Any, Any] | None:
        """Return the least and the greatest value within bounds; None if they are unknown."""
        if not self.name:
            return None if self.constant is None else (self.constant, self.constant)
        found = None if self.name == FIELDS else bounds(self.name)
        if found is None or self.kind != TEXT:
            return found
        least, greatest = (each.encode() if isinstance(each, str) else each for each in found)
        return least, greatest

    def fits(self, other: _Value) -> bool:
        """Return True if the two can be compared."""
        if {self.kind, other.kind} <= {NUMBER, DECIMAL}:
            return sum(map(max, self.digits, other.digits)) <= MAX_DIGITS
        return self.kind == other.kind

    def beside(self, other: _Value) -> _Value:
        """Return the meaning of a literal beside a time or a date. Raises NeedsSpark."""
        if self.literal is not None and self.kind in (TEXT, DATE) and other.kind == TIME:
            return _time(self.literal)
        if self.literal is not None and self.kind == TEXT and other.kind == DATE:
            return _date(self.literal)
        return self


def make_filter(condition: str, typed: Sequence[pa.Field] = ()) -> Expression:
    """Return a filter of entries by a condition. Raises NeedsSpark, UnknownColumn.

    `typed`: the batches' typed columns.
    """
    found = tokens(condition, double_quotes=True)
    if found is None:
        raise NeedsSpark
    try:
        parser = _Parser(found, typed)
        chosen = parser.condition()
        parser.expect_end()
    except NeedsSpark:
        if text := unknown_column(condition, found, [*COLUMNS, *(one.name for one in typed)]):
            raise UnknownColumn(text) from None
        raise
    return chosen


class _Parser:
    """Parses a condition. All methods raise NeedsSpark."""

    def __init__(self, found: Sequence[Token], typed: Sequence[pa.Field]) -> None:
        self._found = found
        self._place = 0
        lowered = Counter(column.name.lower() for column in typed)
        # Spark itself reports two names that it does not distinguish.
        self._typed = {
            column.name.lower(): column for column in typed if lowered[column.name.lower()] == 1
        }

    def expect_end(self) -> None:
        if self._place < len(self._found):
            raise NeedsSpark

    def condition(self) -> Expression:
        parts = [self._conjunction()]
        while self._takes("OR"):
            parts.append(self._conjunction())
        return _joined(pc.or_kleene, parts)

    def _conjunction(self) -> Expression:
        parts = [self._negation()]
        while self._takes("AND"):
            parts.append(self._negation())
        return _joined(pc.and_kleene, parts)

    def _negation(self) -> Expression:
        """Parse NOT, a condition in parentheses, or a comparison."""
        is_negated = False
        while self._takes("NOT"):
            is_negated = not is_negated
        if self._takes("("):
            chosen = self.condition()
            self._expect(")")
        else:
            chosen = self._predicate()
        return _negated(chosen) if is_negated else chosen

    def _predicate(self) -> Expression:
        left = self._value()
        if self._takes("IS"):
            is_negated = self._takes("NOT")
            self._expect("NULL")
            is_null = pc.is_valid if is_negated else pc.is_null
            return Expression(lambda batch: is_null(left.of(batch)), left.names)
        is_negated = self._takes("NOT")
        if self._takes("IN"):
            chosen = self._membership(left)
        elif self._takes("LIKE"):
            chosen = self._likeness(left)
        elif self._takes("BETWEEN"):
            chosen = self._betweenness(left)
        elif is_negated:
            raise NeedsSpark
        else:
            return self._comparison(left)
        return _negated(chosen) if is_negated else chosen

    def _comparison(self, left: _Value) -> Expression:
        sign = self._next()
        if sign.kind != "sign" or sign.text not in COMPARISONS:
            raise NeedsSpark
        return _compared(left, sign.text, self._value())

    def _betweenness(self, left: _Value) -> Expression:
        least = self._value()
        self._expect("AND")
        most = self._value()
        return _joined(pc.and_kleene, [_compared(left, ">=", least), _compared(left, "<=", most)])

    def _membership(self, left: _Value) -> Expression:
        """Parse IN. Decimals, times and dates are left to Spark, as `_literal` has none."""
        self._expect("(")
        chosen = [self._literal(left.kind)]
        while self._takes(","):
            chosen.append(self._literal(left.kind))
        self._expect(")")
        members = pa.array(chosen, pa.binary() if left.kind == TEXT else pa.int64())

        def is_member(batch: pa.RecordBatch) -> pa.Array:
            values = left.of(batch)
            return pc.if_else(pc.is_valid(values), pc.is_in(values, members), None)

        return Expression(is_member, left.names, partial(_may_be_member, left, chosen))

    def _likeness(self, left: _Value) -> Expression:
        pattern = self._literal(TEXT)
        # `_` stands for a character, but bytes are compared here.
        if left.kind != TEXT or not isinstance(pattern, bytes) or b"_" in pattern:
            raise NeedsSpark
        return Expression(
            lambda batch: pc.match_like(left.of(batch), pattern),
            left.names,
            partial(_may_begin, left, pattern.partition(b"%")[0].partition(b"\\")[0]),
        )

    def _value(self) -> _Value:
        token = self._peek()
        if not token.is_name:
            return self._literal_value(token.kind)
        name = self._next().text.lower()
        if name in TEXTS:
            return _Value(TEXT, lambda batch: batch.column(name).cast(pa.binary()), name=name)
        if name in NUMBERS:
            return _Value(NUMBER, lambda batch: batch.column(name).cast(pa.int64()), name=name)
        if name == TS:
            return _Value(TIME, lambda batch: batch.column(TS), name=TS)
        if token.keyword in ("TIMESTAMP", "DATE") and self._has_string():
            return (_time if name == "timestamp" else _date)(self._next().text)
        if name in self._typed:
            return _typed_value(self._typed[name])
        if name != "fields":
            raise NeedsSpark(f"{token.text}(...)" if self._takes("(") else "this condition")
        if self._takes("."):
            if not self._peek().is_name:
                raise NeedsSpark
            field: bytes | int = self._next().text.encode()
        else:
            self._expect("[")
            field = self._literal(TEXT)
            self._expect("]")
        return _Value(TEXT, lambda batch: field_column(batch, field), name=FIELDS)

    def _literal_value(self, kind: str) -> _Value:
        if kind == "fraction":
            text = self._next().text
            digits = [len(part) for part in text.split(".")]
            if sum(digits) > MAX_DIGITS:
                raise NeedsSpark
            scalar = pa.scalar(Decimal(text), pa.decimal128(max(sum(digits), 1), digits[1]))
            return _Value(
                DECIMAL,
                lambda batch: pa.repeat(scalar, len(batch)),
                (digits[0], digits[1]),
                constant=Decimal(text),
            )
        if kind == "string":
            text = self._next().text
            return _constant(TEXT, pa.scalar(text.encode(errors="surrogateescape")), text)
        return _constant(NUMBER, pa.scalar(self._literal(NUMBER)))

    def _literal(self, kind: str) -> bytes | int:
        token = self._next()
        if kind == TEXT and token.kind == "string":
            # Surrogates stand for bytes of the command line that are not UTF-8.
            return token.text.encode(errors="surrogateescape")
        if kind == NUMBER and token.kind == "number" and int(token.text) <= LAST_NUMBER:
            return int(token.text)
        raise NeedsSpark

    def _has_string(self) -> bool:
        return self._place < len(self._found) and self._found[self._place].kind == "string"

    def _peek(self) -> Token:
        if self._place == len(self._found):
            raise NeedsSpark
        return self._found[self._place]

    def _next(self) -> Token:
        token = self._peek()
        self._place += 1
        return token

    def _takes(self, text: str) -> bool:
        """Consume a keyword or a sign if it comes next."""
        is_next = self._place < len(self._found) and text in (
            self._found[self._place].keyword,
            self._found[self._place].text if self._found[self._place].kind == "sign" else "",
        )
        self._place += is_next
        return is_next

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise NeedsSpark


def _typed_value(column: pa.Field) -> _Value:
    """Return a typed column. Raises NeedsSpark for types that Spark compares differently."""
    name, kind = column.name, column.type
    if pa.types.is_string(kind):
        return _Value(TEXT, lambda batch: batch.column(name).cast(pa.binary()), name=name)
    if pa.types.is_integer(kind):
        return _Value(NUMBER, lambda batch: batch.column(name).cast(pa.int64()), name=name)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        is_date = pa.types.is_date(kind)
        return _Value(DATE if is_date else TIME, lambda batch: batch.column(name), name=name)
    if pa.types.is_decimal(kind):
        digits = kind.precision - kind.scale, kind.scale
        return _Value(DECIMAL, lambda batch: batch.column(name), digits, name=name)
    raise NeedsSpark


def _time(text: str) -> _Value:
    """Parse a time. Raises NeedsSpark for uncommon formats."""
    found = TIME_TEXT.fullmatch(text)
    if found is None:
        raise NeedsSpark
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise NeedsSpark from None
    zone = found[5] or "Z"
    if zone != "Z" and int(zone[1:3]) > MAX_ZONE_HOURS:
        raise NeedsSpark
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return _constant(TIME, pa.scalar(moment, TIMESTAMP))


def _date(text: str) -> _Value:
    """Parse a date. Raises NeedsSpark for uncommon formats."""
    if TIME_TEXT.fullmatch(text) is None:
        raise NeedsSpark
    try:
        return _constant(DATE, pa.scalar(date.fromisoformat(text)), text)
    except ValueError:
        raise NeedsSpark from None


def _compared(left: _Value, sign: str, right: _Value) -> Expression:
    """Return a comparison. Raises NeedsSpark for types that only Spark compares."""
    left, right = left.beside(right), right.beside(left)
    if not left.fits(right):
        raise NeedsSpark(f"a {left.kind} beside a {right.kind}")
    compare = COMPARISONS[sign]
    return Expression(
        lambda batch: compare(left.of(batch), right.of(batch)),
        left.names | right.names,
        partial(_may_compare, left, sign, right),
    )


def _constant(kind: str, scalar: pa.Scalar, literal: str | None = None) -> _Value:
    try:
        value = scalar.as_py()
    except OverflowError:  # in another zone, a time before the year 1
        value = None
    return _Value(
        kind, lambda batch: pa.repeat(scalar, len(batch)), literal=literal, constant=value
    )


def _joined(
    join: Callable[[pa.Array, pa.Array], pa.Array], parts: Sequence[Expression]
) -> Expression:
    """Join conditions in a loop, as there may be thousands."""
    if len(parts) == 1:
        return parts[0]

    def possible(bounds: Bounds) -> Possible:
        trues, falses = zip(*(part.possible(bounds) for part in parts), strict=True)
        if join is pc.or_kleene:
            return any(trues), all(falses)
        return all(trues), any(falses)

    return Expression(
        lambda batch: reduce(join, (part(batch) for part in parts)),
        frozenset[str]().union(*(part.names for part in parts)),
        possible,
    )


def _negated(chosen: Expression) -> Expression:
    return Expression(
        lambda batch: pc.invert(chosen(batch)),
        chosen.names,
        lambda bounds: chosen.possible(bounds)[::-1],
    )


# -- bounds ----------------------------------------------------------------------------------------


def _may_compare(left: _Value, sign: str, right: _Value, bounds: Bounds) -> Possible:
    """Return what a comparison may be. Bounds may be wider than the values."""
    one, other = left.range(bounds), right.range(bounds)
    if one is None or other is None:
        return UNKNOWN
    may_be_less, may_be_greater = one[0] < other[1], one[1] > other[0]
    may_be_equal = one[0] <= other[1] and one[1] >= other[0]
    may_differ = may_be_less or may_be_greater
    return {
        "=": (may_be_equal, may_differ),
        "!": (may_differ, may_be_equal),
        "<": (may_be_less, may_be_greater or may_be_equal),
        "<=": (may_be_less or may_be_equal, may_be_greater),
        ">": (may_be_greater, may_be_less or may_be_equal),
        ">=": (may_be_greater or may_be_equal, may_be_less),
    }["!" if sign in ("!=", "<>") else "=" if sign == "==" else sign]


def _may_be_member(left: _Value, members: Sequence[bytes | int], bounds: Bounds) -> Possible:
    found = left.range(bounds)
    if found is None:
        return UNKNOWN
    return any(found[0] <= one <= found[1] for one in members), True


def _may_begin(left: _Value, prefix: bytes, bounds: Bounds) -> Possible:
    """Return what LIKE may be. `prefix`: what comes before the first wildcard."""
    found = left.range(bounds)
    if found is None:
        return UNKNOWN
    return found[0][: len(prefix)] <= prefix <= found[1], True


def field_column(batch: pa.RecordBatch, name: bytes | int) -> pa.Array:
    """Return the values of a field; null for entries without it."""
    fields = batch.column("fields")
    pairs = fields.flatten()
    is_named = pc.equal(pairs.field("name"), pa.scalar(name, pa.binary()))
    entries = pc.list_parent_indices(fields).filter(is_named)
    values = pairs.field("value").filter(is_named)
    if len(entries) > 1:
        # The last value of each entry.
        is_last = pc.not_equal(entries.slice(0, len(entries) - 1), entries.slice(1))
        is_last = pa.concat_arrays([is_last, pa.array([True])])
        entries, values = entries.filter(is_last), values.filter(is_last)
    rows = pa.array(range(len(batch)), entries.type)
    return values.take(pc.index_in(rows, entries))


OPERATORS = {"=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%"}
BEFORE = OPERATORS | {"", "(", "AND", "OR", "NOT"}
AFTER = OPERATORS | {
    *("", ")", "[", ".", "AND", "OR", "NOT", "IN", "IS"),
    *("LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN"),
}
# Keywords that are values.
CONSTANTS = {
    *("TRUE", "FALSE", "NULL", "USER", "CURRENT_USER", "SESSION_USER"),
    *("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP"),
}


def unknown_column(condition: str, found: Sequence[Token], columns: Iterable[str]) -> str:
    """Return a message about unknown column names; empty if none is certain."""
    known = list(columns)
    wrong = _unknown(found, {name.lower() for name in known})
    if not wrong:
        return ""
    names = ", ".join(dict.fromkeys(token.text for token in wrong))
    near = did_you_mean(wrong[0].text, known, "")
    if near and _after(found, wrong[0]) == "[":
        return f"there is no column {names}.{near}"
    return f"there is no column {names}.{near} For a field, write: {_with_fields(condition, wrong)}"


def _unknown(found: Sequence[Token], known: set[str]) -> list[Token]:
    texts = [_operator(token) for token in found]
    # Lambdas and subqueries define names of their own.
    if ("-", ">") in pairwise(texts) or "SELECT" in texts:
        return []
    around = zip(["", *texts], found, [*texts[1:], ""], strict=False)
    return [
        token
        for before, token, after in around
        if token.is_name
        and token.keyword not in CONSTANTS
        and token.text.lower() not in known
        and before in BEFORE
        and after in AFTER
    ]


def _operator(token: Token) -> str:
    """Return a keyword or a sign; `value` for a value."""
    return token.text if token.kind == "sign" else token.keyword or "value"


def _after(found: Sequence[Token], token: Token) -> str:
    place = found.index(token) + 1
    return _operator(found[place]) if place < len(found) else ""


def _with_fields(condition: str, wrong: Sequence[Token]) -> str:
    """Return the condition with the names replaced by fields."""
    for token in reversed(wrong):
        quote = '"' if "'" in token.text else "'"
        end = token.place + len(token.text) + 2 * (token.kind == "quoted")
        name = f"fields[{quote}{token.text}{quote}]"
        condition = condition[: token.place] + name + condition[end:]
    return condition
