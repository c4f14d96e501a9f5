"""Figures as words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.console import formats
from rillway.console.formats import cut, from_path, to_path, to_text


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "–"), (0, "0"), (1204, "1,204"), (12_400, "12.4k"), (1_200_000, "1.2M"), (3e9, "3.0G")],
)
def test_counts(number: float | None, text: str) -> None:
    assert formats.count(number) == text


def test_an_unknown_lag_is_no_lag_of_zero() -> None:
    assert formats.count(None, formats.UNKNOWN_LAG) == "?"


@pytest.mark.parametrize(
    ("rate", "estimate", "text"),
    [(None, False, "–"), (0, False, "0"), (0.25, False, "0.2"), (1204, True, "~1,204")],
)
def test_rates(rate: float | None, estimate: bool, text: str) -> None:
    assert formats.rate(rate, estimate) == text


@pytest.mark.parametrize(
    ("number", "text"), [(None, "–"), (870, "870 B"), (14_785_000, "14.1 MB"), (1 << 42, "4.0 TB")]
)
def test_sizes(number: int | None, text: str) -> None:
    assert formats.size(number) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "–"), (230, "0.2 s"), (41_000, "41 s"), (124_000, "2 min 4 s"),
        (11_400_000, "3 h 10 min"), (439_200_000, "5 d 2 h"),
    ],
)  # fmt: skip
def test_durations(ms: int | None, text: str) -> None:
    assert formats.duration(ms) == text


def test_latencies() -> None:
    assert formats.microseconds(None) == "–"
    assert formats.microseconds(41) == "41 µs"
    assert formats.microseconds(14_000) == "14 ms"


def test_times_are_utc_and_what_is_no_time_is_a_dash() -> None:
    assert formats.clock_time(1_700_000_000_123) == "2023-11-14 22:13:20.123"
    assert formats.clock_time(2**64) == formats.clock_time(None) == "–"


def test_a_sparkline_fills_its_box_and_leaves_gaps_out() -> None:
    assert formats.points([0, None, 10], 100, 20) == "0,19 100,1"
    assert formats.points([0, 0]) == "0,19 100,19"
    assert formats.points([]) == formats.points([1]) == formats.points([None, 1]) == ""


def test_a_long_sparkline_has_the_peaks_of_sixty_stretches() -> None:
    values: list[float | None] = [0.0] * 300
    values[7] = 4.0
    points = formats.points(values).split(" ")
    assert len(points) == 60 and [point for point in points if point.endswith(",1")] == ["1.695,1"]


@given(st.binary())
def test_any_bytes_survive_paths(data: bytes) -> None:
    assert from_path(to_path(data)) == data
    assert "/" not in to_path(data)


@pytest.mark.parametrize("name", [b".", b"..", b"+.", b"+..", b"...", b"", b"%2e%2e"])
def test_no_segment_is_one_that_browsers_resolve(name: bytes) -> None:
    assert to_path(name) not in (".", "..") and from_path(to_path(name)) == name


@given(st.binary())
def test_as_text_they_are_one_printable_line(data: bytes) -> None:
    assert to_text(data).isprintable()


def test_what_is_no_text_is_visible() -> None:
    assert to_text(b"a\x1b[31m\n\xff\xe2\x80\xae\xc3\xa9") == "a\\x1b[31m\\n\\xff\\u202eé"


def test_long_values_are_cut_between_characters() -> None:
    assert cut(b"abc", 3) == b"abc"
    assert cut("ééé".encode(), 3).decode() == "é"
    assert cut(b"\x80" * 9, 5) == b"\x80" * 1
