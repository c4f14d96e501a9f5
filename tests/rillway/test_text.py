"""Figures in both notations, and tables."""

from __future__ import annotations

import pytest

from rillway.text import duration, short_count, short_duration, short_size, size, text_table


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "-"), (230, "0.2 s"), (9_960, "10 s"), (41_000, "41 s"), (59_700, "1 min"),
        (124_000, "2 min 4 s"), (3_600_000, "1 h"), (11_400_000, "3 h 10 min"),
        (439_200_000, "5 d 2 h"), (864_000_000, "10 d"),
    ],
)  # fmt: skip
def test_a_long_duration_has_at_most_two_units(ms: float | None, text: str) -> None:
    assert duration(ms) == text


@pytest.mark.parametrize(
    ("number", "text"), [(None, "-"), (870, "870 B"), (14_785_000, "14.1 MB"), (1 << 42, "4.0 TB")]
)
def test_a_long_size_has_a_unit_of_its_own(number: int | None, text: str) -> None:
    assert size(number) == text


def test_short_counts_and_sizes_have_at_most_six_characters() -> None:
    numbers = [None, 0, 999, 9_999, 10_000, 88_000, 123_456, 999_960, 1_200_000, 4 * 10**9]
    assert [short_count(one) for one in numbers] == [
        "-", "0", "999", "9,999", "10.0k", "88.0k", "123k", "1.0M", "1.2M", "4.0G",
    ]  # fmt: skip
    sizes = [None, 512, 1024, 14_785_000, 150 << 20, 1 << 40]
    assert [short_size(one) for one in sizes] == ["-", "512", "1.0k", "14.1M", "150M", "1.0T"]
    assert max(len(short_count(10**power)) for power in range(15)) <= 6


def test_short_durations() -> None:
    durations = [None, 200, 41_000, 59_960, 124_000, 11_520_000, 273_600_000, 416_000_000_000]
    assert [short_duration(one) for one in durations] == [
        "-", "0.2s", "41.0s", "1m00s", "2m04s", "3h12m", "3d04h", "4814d",
    ]  # fmt: skip


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    table = text_table(("name", "n", "rate"), [("a", 1234, 0.25), ("longer", None, 1000.0)])
    assert table.splitlines() == [
        "name        n     rate",
        "------  -----  -------",
        "a       1,234      0.2",
        "longer      -  1,000.0",
    ]


def test_a_table_without_rows_is_its_headings() -> None:
    assert text_table(("name", "n"), []).splitlines() == ["name  n", "----  -"]
