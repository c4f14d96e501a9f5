"""Ratios, spreads, growth, targets and limits, from figures that are given."""

from __future__ import annotations

import pytest

from benchmarks.figures import (
    Figure,
    Measure,
    Result,
    Row,
    Spread,
    Target,
    is_met,
    limit,
    percentile,
)


def result(
    ours: list[float],
    theirs: list[float],
    *targets: Target,
    name: str = "case",
    lower_is_better: bool = False,
) -> Result:
    row = Row(name, lower_is_better=lower_is_better, targets=targets)
    return Result(row, [Figure(value) for value in ours], [Figure(value) for value in theirs])


def test_the_ratio_is_the_median_of_the_pairs_and_not_the_ratio_of_the_medians() -> None:
    measured = result([10, 20, 90], [10, 40, 30])
    assert measured.ratio == Spread(median=1.0, low=0.5, high=3.0)
    assert (measured.our_value, measured.their_value) == (20, 30)


def test_without_figures_of_redis_there_is_no_ratio() -> None:
    measured = result([1, 2], [])
    assert measured.ratio is None
    assert measured.their_value is None


def test_work_that_is_put_off_is_noted() -> None:
    ours = [Figure(1.0, later=later) for later in (0.0, 0.2, 0.3)]
    assert Result(Row("case"), ours, [Figure(1.0, later=0.0)]).notes == ("later",)
    assert Result(Row("case"), ours[:1], [Figure(1.0)]).notes == ()


def test_a_figure_of_zero_makes_no_pair() -> None:
    assert result([1, 4], [0, 2]).ratio == Spread(2, 2, 2)


def test_a_target_is_a_bound_from_below() -> None:
    target = Target(Measure.RATIO, 0.9)
    assert is_met(target, result([9], [10], target)) is True
    assert is_met(target, result([8.9], [10], target)) is False


def test_a_target_is_a_bound_from_above_where_less_is_better() -> None:
    target = Target(Measure.RATIO, 0.7)
    assert is_met(target, result([7], [10], target, lower_is_better=True)) is True
    assert is_met(target, result([7.1], [10], target, lower_is_better=True)) is False


def test_a_target_may_be_about_the_value_itself() -> None:
    target = Target(Measure.VALUE, 74.11)
    assert is_met(target, result([80, 70, 75], [99, 99, 99], target)) is True
    assert is_met(target, result([80, 70, 74], [1, 1, 1], target)) is False


def test_nothing_is_said_of_a_ratio_without_redis() -> None:
    target = Target(Measure.RATIO, 1.0)
    assert is_met(target, result([5], [], target)) is None


def busy(server: float, load: float, others: float = 0.0) -> list[Figure]:
    return [Figure(1.0, server, load, others)]


def test_a_server_with_a_full_core_bounds_its_own_figure() -> None:
    assert limit(busy(server=0.95, load=0.99)) == ""


def test_a_load_with_a_full_core_is_the_limit_if_the_server_has_time() -> None:
    assert limit(busy(server=0.6, load=0.97)) == "load"


def test_neither_core_full_means_waiting() -> None:
    assert limit(busy(server=0.4, load=0.4)) == "waiting"


def test_others_on_the_two_cores_make_any_figure_doubtful() -> None:
    assert limit(busy(server=0.95, load=0.5, others=0.3)) == "others"


def test_figures_without_shares_have_no_limit() -> None:
    assert limit([Figure(1.0)]) == ""
    assert limit([]) == ""


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
