"""Names in a condition that are no columns."""

from __future__ import annotations

import pytest

from rillway.pipeline.query.names import unknown_column
from rillway.pipeline.ranges.conditions import tokens

COLUMNS = ("ms", "fields")


def said(condition: str) -> str:
    return unknown_column(condition, tokens(condition) or [], COLUMNS)


def test_each_name_is_replaced_by_its_field() -> None:
    assert said("a = 'x' AND `b c` = a") == (
        "there is no column a, b c. For a field, write: "
        "fields['a'] = 'x' AND fields['b c'] = fields['a']"
    )


@pytest.mark.parametrize(
    "condition", ["ms = 1", "true", "upper('a') = 'A'", "ms IN (SELECT a)", "x -> x = 1", "a b = 1"]
)
def test_nothing_is_said_of_what_is_not_certain(condition: str) -> None:
    assert said(condition) == ""
