"""Ratios, spreads, growth, targets and limits, from figures that are given."""

from __future__ import annotations

import pytest

from benchmarks.figures import Figure, Result, Row, Spread, Target, is_met, limit, percentile


def result(ours: list[float], theirs: list[float], *, lower_is_better: bool = False) -> Result:
    row = Row("case", lower_is_better=lower_is_better)
    return Result(row, [Figure(value) for value in ours], [Figure(value) for value in theirs])


def test_the_ratio_is_the_median_of_the_pairs_and_not_the_ratio_of_the_medians() -> None:
    measured = result([10, 20, 90], [10, 40, 30])
    assert measured.ratio == Spread(median=1.0, low=0.5, high=3.0)
    assert (measured.our_value, measured.their_value) == (20, 30)


def test_work_that_is_put_off_is_noted() -> None:
    ours = [Figure(1.0, later=later) for later in (0.0, 0.2, 0.3)]
    assert Result(Row("case"), ours, [Figure(1.0, later=0.0)]).notes == ("later",)
    assert Result(Row("case"), ours[:1], [Figure(1.0)]).notes == ()


def test_a_figure_of_zero_makes_no_pair() -> None:
    assert result([1, 4], [0, 2]).ratio == Spread(2, 2, 2)


@pytest.mark.parametrize(
    ("target", "lower_is_better", "ours", "theirs", "expected"),
    [
        (Target(0.9), False, [9], [10], True),
        (Target(0.9), False, [8.9], [10], False),
        (Target(0.7), True, [7], [10], True),
        (Target(0.7), True, [7.1], [10], False),
        (Target(74.11, is_ratio=False), False, [80, 70, 75], [99, 99, 99], True),
        (Target(74.11, is_ratio=False), False, [80, 70, 74], [1, 1, 1], False),
        (Target(1.0), False, [5], [0], None),
    ],
)
def test_a_target_bounds_a_ratio_or_a_value_from_below_or_above(
    target: Target,
    lower_is_better: bool,
    ours: list[float],
    theirs: list[float],
    expected: bool | None,
) -> None:
    assert is_met(target, result(ours, theirs, lower_is_better=lower_is_better)) is expected


def busy(server: float, load: float, others: float = 0.0) -> list[Figure]:
    return [Figure(1.0, server, load, others)]


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (busy(server=0.95, load=0.99), ""),
        (busy(server=0.6, load=0.97), "load"),
        (busy(server=0.4, load=0.4), "waiting"),
        (busy(server=0.95, load=0.5, others=0.3), "others"),
        ([Figure(1.0)], ""),
        ([], ""),
    ],
)
def test_the_limit_of_a_figure_is_a_full_core_or_others_on_the_cores(
    figures: list[Figure], expected: str
) -> None:
    assert limit(figures) == expected


def test_the_worse_limit_of_the_two_servers_is_shown() -> None:
    measured = Result(Row("case"), busy(0.5, 0.5), busy(0.5, 0.95))
    assert measured.limit == "load"


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 500), (0.999, 999), (1.0, 1000), (0.001, 1), (0.0, 1)]
)
def test_a_percentile_is_one_of_the_values(share: float, expected: float) -> None:
    assert percentile(list(range(1, 1001)), share) == expected


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)
