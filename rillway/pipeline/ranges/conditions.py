"""Derives the range of time that a SQL condition allows, for readers of ranges.

Only certain terms count: among terms joined by AND, comparisons of an entry's ID (`=`), `ms` or
`ts` with a literal. Everything else leaves the range as it is. A range may be wider than its
condition, which the reader still applies to the entries.

Does not parse SQL. A condition is split at its ANDs; if another keyword could change their meaning
(OR, CASE, BETWEEN), nothing counts. Formats of times other than ISO 8601 are left to the engine
that evaluates the condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from rillway.pipeline.wire.ids import MAX_SEQ, MS, PER_MS

TOKEN = re.compile(
    r"""(?P<space>\s+) | '(?P<string>[^'\\]*)' | "(?P<double>[^"\\]*)" | `(?P<quoted>[^`]+)`
    | (?P<word>[A-Za-z_]\w*) | (?P<number>\d+)[lL]?(?![\w.]) | (?P<fraction>\d+\.\d*)(?![\w.])
    | (?P<sign><=>|<=|>=|<>|!=|==|[^\w\s'"`\\])""",
    re.VERBOSE,
)
COMMENTS = ("--", "/*")
OTHER_GRAMMAR = {"OR", "CASE", "BETWEEN"}
# What may stand beside a complete comparison. Elsewhere its words may belong to another expression:
# `customer.id = 'a'`, `'x' || id = 'a'`, `id -> id = 'a'`.
BEFORE, AFTER = ("", "(", "AND", "OR", "NOT"), ("", ")", "AND", "OR")
# Each parenthesis takes a few nested calls.
MAX_DEPTH = 100
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "==": "=="}
EQUAL = ("=", "==")
ID = re.compile(r"(\d{1,20})-\d+")
TIME = re.compile(r"(\d{4}-\d\d-\d\d)([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?")
NUMBER = re.compile(r"\s*[+-]?\d+(\.\d*)?\s*")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The expected form of a text that is compared with a column.
EXAMPLES = {
    "id": "the ID of an entry, such as '1700000000000-0'",
    "ms": "milliseconds since 1970, such as 1700000000000",
    "ts": "a time, such as '2026-01-31T12:00:00Z'",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a condition.

    `kind`: string, quoted, word, number, fraction or sign; `text`: without quotation marks;
    `place`: its index in the condition.
    """

    kind: str
    text: str
    place: int = field(default=0, compare=False)

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")

    @property
    def keyword(self) -> str:
        """The word in upper case; empty if the token is no word."""
        return self.text.upper() if self.kind == "word" else ""


class UnreadableLiteral(ValueError):
    """A text that is compared with a column cannot be its value; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of names and literals.

    `zone`: that of times without one, None if unknown. `prefix`: the prefix of the columns `id`,
    `ms` and `ts`. `instant`: returns the Unix ms of a time that is not in ISO 8601, None if it is
    no time; without it, any text may be one. `unit`: the unit of the IDs.
    """

    zone: tzinfo | None
    prefix: str = ""
    instant: Callable[[str], int | None] | None = None
    unit: str = MS

    def column(self, name: Token) -> str:
        """Return `id`, `ms`, `ts` or another name; empty for no name, or without the prefix."""
        is_ours = name.is_name and name.text.startswith(self.prefix)
        return name.text[len(self.prefix) :] if is_ours else ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The first halves of the first and last ID, both included; None means open."""

    first_ms: int | None = None
    last_ms: int | None = None


def quoted_name(name: str) -> str:
    """Return a name in backticks, which may have any characters in Spark's SQL."""
    return f"`{name.replace('`', '``')}`"


def names_in(condition: str, names: Iterable[str]) -> list[str]:
    """Return those of `names` that a condition may use; all of them if that is uncertain."""
    found = tokens(condition)
    used = None if found is None else {each.text.lower() for each in found if each.is_name}
    return [name for name in names if used is None or name.lower() in used]


def bounds(condition: str, reading: Reading) -> Bounds:
    """Return a range of time outside of which the condition is true for no entry.

    Raises UnreadableLiteral: otherwise such a comparison would match nothing, or fail only when the
    condition is applied.
    """
    found = tokens(condition)
    if found is None:
        return Bounds()
    _check_literals(found, reading)
    each = list(_bounds(found, reading))
    firsts = [one.first_ms for one in each if one.first_ms is not None]
    lasts = [one.last_ms for one in each if one.last_ms is not None]
    return Bounds(max(firsts, default=None), min(lasts, default=None))


def tokens(condition: str, *, double_quotes: bool = False) -> list[Token] | None:
    """Split a condition into tokens.

    None for syntax that is not supported: escapes, exponents, other quotes, comments, deep nesting.

    `double_quotes`: true if they certainly enclose a string; a setting of Spark makes them enclose
    a name.
    """
    found: list[Token] = []
    place = depth = 0
    while place < len(condition):
        match = TOKEN.match(condition, place)
        if match is None or condition.startswith(COMMENTS, place):
            return None
        kind = match.lastgroup or ""
        if kind == "double" and not double_quotes:
            return None
        if kind != "space":
            named = "string" if kind == "double" else kind
            found.append(Token(named, match[kind], place))
        depth += (match["sign"] == "(") - (match["sign"] == ")")
        if depth > MAX_DEPTH:
            return None
        place = match.end()
    return found


def _bounds(found: Sequence[Token], reading: Reading) -> Iterator[Bounds]:
    """Yield the bounds of each usable comparison."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        if token.kind == "sign":
            depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0 and token.keyword in OTHER_GRAMMAR:
            return
        if depth == 0 and token.keyword == "AND":
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) > 1:
        for part in parts:
            yield from _bounds(part, reading)
    elif _is_enclosed(found):
        yield from _bounds(found[1:-1], reading)
    else:
        yield _comparison(found, reading)


def _is_enclosed(found: Sequence[Token]) -> bool:
    """Return True if the first token is a parenthesis that the last one closes."""
    depth = 0
    for place, token in enumerate(found):
        if token.kind == "sign":
            depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return place > 0 and place == len(found) - 1
    return False


def _comparison(found: Sequence[Token], reading: Reading) -> Bounds:
    """Return the bounds of a comparison; open ones for any other term."""
    signs = [place for place, each in enumerate(found) if each.kind == "sign"]
    if len(signs) != 1 or found[signs[0]].text not in FLIPPED:
        return Bounds()
    left, sign, right = found[: signs[0]], found[signs[0]].text, found[signs[0] + 1 :]
    if not (len(left) == 1 and left[0].is_name):
        left, sign, right = right, FLIPPED[sign], left
    column = reading.column(left[0]) if len(left) == 1 else ""
    ms = _milliseconds(column, right, reading)
    if ms is None or not 0 <= ms < MAX_SEQ or (column == "id" and sign not in EQUAL):
        return Bounds()
    first = last = ms
    if column == "ts":
        if reading.unit not in PER_MS:
            return Bounds()
        first = ms * PER_MS[reading.unit]
        last = first + PER_MS[reading.unit] - 1
    is_exact = column == "ms"
    return Bounds(
        first + (is_exact and sign == ">") if sign in (*EQUAL, ">", ">=") else None,
        last - (is_exact and sign == "<") if sign in (*EQUAL, "<", "<=") else None,
    )


def _milliseconds(column: str, literal: Sequence[Token], reading: Reading) -> int | None:
    """Return the millisecond of a literal; None for any other literal."""
    *types, value = literal or [Token("", "")]
    kinds = [each.keyword for each in types]
    if column == "ms" and not types and value.kind == "number":
        return int(value.text)
    if value.kind != "string":
        return None
    if column == "id" and not types and (found := ID.fullmatch(value.text)):
        return int(found[1])
    if column == "ts" and kinds in ([], ["TIMESTAMP"], ["DATE"]):
        return _instant(value.text, reading, is_date=kinds == ["DATE"])
    return None


def _instant(text: str, reading: Reading, *, is_date: bool) -> int | None:
    found = TIME.fullmatch(text)
    if found is None and not is_date and reading.instant is not None:
        return reading.instant(text)
    if found is None or (is_date and found[2]):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        if reading.zone is None:
            return None
        moment = moment.replace(tzinfo=reading.zone)
    return (moment - EPOCH) // timedelta(milliseconds=1)


def _check_literals(found: Sequence[Token], reading: Reading) -> None:
    """Check all comparisons of a column with a text. Raises UnreadableLiteral."""
    end = Token("", "")
    around = [end, *found, end]
    for before, left, sign, right, after in zip(
        around, found, found[1:], found[2:], around[4:], strict=False
    ):
        if sign.text not in FLIPPED or sign.kind != "sign":
            continue
        if not (_separates(before, BEFORE) and _separates(after, AFTER)):
            continue
        name, literal = (right, left) if left.kind == "string" else (left, right)
        column = reading.column(name)
        if literal.kind == "string" and not _is_readable(column, sign.text, literal.text, reading):
            raise UnreadableLiteral(
                f"{name.text} {sign.text} '{literal.text}' is true for no entry: expected "
                + EXAMPLES[column]
            )


def _separates(token: Token, words: Sequence[str]) -> bool:
    return token.kind != "string" and (token.keyword or token.text) in words


def _is_readable(column: str, sign: str, text: str, reading: Reading) -> bool:
    if column == "id":
        return sign not in EQUAL or ID.fullmatch(text) is not None
    if column == "ms":
        return NUMBER.fullmatch(text) is not None
    if column == "ts" and reading.instant is not None:
        return (
            _instant(text, reading, is_date=False) is not None or reading.instant(text) is not None
        )
    return True
