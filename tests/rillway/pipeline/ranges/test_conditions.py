"""What a condition in SQL says of the range to read: never less than it is true for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.ranges.conditions import Bounds, Reading, UnreadableLiteral, bounds, names_in

NOON = 1_767_355_200_000  # 2026-01-02T12:00:00Z


@pytest.mark.parametrize(
    ("condition", "first", "last"),
    [
        ("ms >= 5", 5, None),
        ("ms > 5", 6, None),
        ("ms <= 5", None, 5),
        ("ms < 5", None, 4),
        ("ms < 0", None, -1),
        ("ms = 5", 5, 5),
        ("5L <= `ms`", 5, None),
        ("ms >= 5 and ms < 9", 5, 8),
        ("((ms >= 5) AND item = 'x' AND (ms < 9 AND ms > 6))", 7, 8),
        ("ms >= 5 AND (ms < 9 OR item = 'x')", 5, None),
        ("id = '5-3'", 5, 5),
        ("ts >= '2026-01-02T12:00:00Z'", NOON, None),
        ("ts > timestamp '2026-01-02 12:00'", NOON, None),
        ("ts < '2026-01-02T13:00:00.0005+01:00'", None, NOON),
        ("ts >= DATE '2026-01-02'", NOON - 43_200_000, None),
        # Of these, nothing is taken.
        ("ms != 5", None, None),
        ("ms >= 5 OR ms < 3", None, None),
        ("NOT ms > 5", None, None),
        ("ms > 5 IS NULL", None, None),
        ("ms > 5 + 1", None, None),
        ("ms > -5", None, None),
        ("ms > 5.5", None, None),
        ("ms > 5e3", None, None),
        ("ms > '5'", None, None),
        ("ms > 99999999999999999999", None, None),
        ("orders.ms > 5", None, None),
        ("id >= '5-3'", None, None),
        ("ts >= '2026-02-30'", None, None),
        ("ts >= DATE '2026-01-02 12:00'", None, None),
        ("ms BETWEEN 5 AND ms = 9", None, None),
        ("CASE WHEN a AND ms > 5 AND b THEN c END", None, None),
        ("ms > 5 -- AND ms < 2", None, None),
        (r"item = 'it\'s' AND ms > 5", None, None),
        ('item = "x" AND ms > 5', None, None),
        ("_ms > 5", None, None),
        ("", None, None),
    ],
)
def test_comparisons_with_and_between_them_bound_the_range(
    condition: str, first: int | None, last: int | None
) -> None:
    assert bounds(condition, Reading(UTC)) == Bounds(first, last)


@pytest.mark.parametrize(
    ("unit", "first", "last"),
    [
        ("us", NOON * 1_000, NOON * 1_000 + 999),
        ("ns", NOON * 1_000_000, NOON * 1_000_000 + 999_999),
        ("none", None, None),
    ],
)
def test_times_bound_ids_of_other_units(unit: str, first: int | None, last: int | None) -> None:
    reading = Reading(UTC, unit=unit)
    assert bounds("ts = '2026-01-02T12:00:00Z'", reading) == Bounds(first, last)
    assert bounds("ms >= 5 AND ms < 9", reading) == Bounds(5, 8)


def test_columns_may_have_a_prefix() -> None:
    assert bounds("_ms > 5 AND ms > 9", Reading(UTC, "_")) == Bounds(6, None)


def test_times_are_of_the_zone_that_is_given() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert bounds("ts >= '2026-01-02 13:00'", Reading(berlin)).first_ms == NOON
    assert bounds("ts >= '2026-01-02 13:00'", Reading(None)) == Bounds()
    assert bounds("ts >= '2026-01-02 12:00Z'", Reading(None)).first_ms == NOON


@pytest.mark.parametrize(
    "condition",
    [
        "ts >= 'yesterdy'",
        "'2026-13-01' < ts",
        "item = 'x' OR (ts = 'soon' AND ms > 5)",
        "ms > 'a while ago'",
        "id = 'x-5'",
        "id = '5'",
    ],
)
def test_a_literal_that_no_entry_can_have_is_refused(condition: str) -> None:
    with pytest.raises(UnreadableLiteral, match="is true for no entry: expected"):
        bounds(condition, Reading(UTC, instant={"yesterday": NOON}.get))


@pytest.mark.parametrize(
    "condition",
    [
        "customer.id = 'x'",
        "'x' = id.customer",
        "'order:' || id = 'order:5-0'",
        "id = '5' || '-0'",
        "exists(parts, id -> id = 'x')",
        "item = id = 'x'",
        "id = 'x' IS NULL",
        "ms = '' || item",
        "id = '18446744073709551615-0'",
    ],
)
def test_a_comparison_of_something_else_is_not_refused(condition: str) -> None:
    assert bounds(condition, Reading(UTC)) == Bounds()


def test_a_condition_may_be_long_and_is_not_read_where_it_is_deep() -> None:
    assert bounds(" AND ".join(["ms > 5"] * 3000), Reading(UTC)) == Bounds(6, None)
    assert bounds(f"{'(' * 3000}ms > 5{')' * 3000}", Reading(UTC)) == Bounds()


def test_times_that_the_engine_knows_bound_the_range() -> None:
    reading = Reading(UTC, instant={"yesterday": NOON}.get)
    assert bounds("ts >= 'yesterday'", reading) == Bounds(NOON, None)
    for condition in ("id >= '17'", "ms > '5'", "item = 'yesterdy'", "id LIKE '5'", "'a' = 'b'"):
        assert bounds(condition, reading) == Bounds()


def test_the_names_that_a_condition_uses() -> None:
    names = ["ms", "item", "price"]
    assert names_in("MS > 5 AND `item` = 'price'", names) == ["ms", "item"]
    assert names_in('"ms" > 5', names) == names


# -- conditions as text, and as functions of `ms` -------------------------------------------------

Condition = tuple[str, Callable[[int], bool]]
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
}
NUMBERS = st.integers(0, 12)


def comparison(sign: str, number: int, *, is_flipped: bool) -> Condition:
    compare = COMPARE[sign]
    if is_flipped:
        return f"{number} {sign} ms", lambda ms: compare(number, ms)
    return f"ms {sign} {number}", lambda ms: compare(ms, number)


def joined(word: str, one: Condition, other: Condition) -> Condition:
    text = f"({one[0]}) {word} ({other[0]})"
    if word == "AND":
        return text, lambda ms: one[1](ms) and other[1](ms)
    return text, lambda ms: one[1](ms) or other[1](ms)


CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    st.builds(comparison, st.sampled_from(list(COMPARE)), NUMBERS, is_flipped=st.booleans()),
    lambda inner: st.one_of(
        st.builds(joined, st.sampled_from(["AND", "OR"]), inner, inner),
        inner.map(lambda one: (f"NOT ({one[0]})", lambda ms: not one[1](ms))),
        inner.map(lambda one: (f"({one[0]})", one[1])),
    ),
)


@given(CONDITIONS)
def test_no_entry_for_which_a_condition_is_true_is_left_out(condition: Condition) -> None:
    text, holds = condition
    found = bounds(text, Reading(UTC))
    true_for = [ms for ms in range(14) if holds(ms)]
    assert found.first_ms is None or all(ms >= found.first_ms for ms in true_for)
    assert found.last_ms is None or all(ms <= found.last_ms for ms in true_for)
