"""Columns that a condition of `rillway query --where` names, and that do not exist.

Most often a field is meant: `carrier = 'UA'` instead of `fields['carrier'] = 'UA'`. Only what is
certain is taken: a name beside a comparison or another operator that is no word of Spark's SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rillway.command_line.parser import did_you_mean
from rillway.pipeline.ranges.conditions import Token

OPERATORS = {"=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%"}
BEFORE = OPERATORS | {"", "(", "AND", "OR", "NOT"}
AFTER = OPERATORS | {
    *("", ")", "[", ".", "AND", "OR", "NOT", "IN", "IS"),
    *("LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN"),
}
# Words that are values by themselves.
CONSTANTS = {
    *("TRUE", "FALSE", "NULL", "USER", "CURRENT_USER", "SESSION_USER"),
    *("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP"),
}


def unknown_column(condition: str, found: Sequence[Token], columns: Iterable[str]) -> str:
    """What to say of names that are no columns; empty if there are none for certain."""
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
    # The names of lambdas and subqueries are their own.
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
    """A keyword or a sign; a value is none, whatever stands in it."""
    return token.text if token.kind == "sign" else token.keyword or "value"


def _after(found: Sequence[Token], token: Token) -> str:
    place = found.index(token) + 1
    return _operator(found[place]) if place < len(found) else ""


def _with_fields(condition: str, wrong: Sequence[Token]) -> str:
    """The condition, with fields in place of the names."""
    for token in reversed(wrong):
        quote = '"' if "'" in token.text else "'"
        end = token.place + len(token.text) + 2 * (token.kind == "quoted")
        name = f"fields[{quote}{token.text}{quote}]"
        condition = condition[: token.place] + name + condition[end:]
    return condition
