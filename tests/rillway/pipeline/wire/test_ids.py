"""IDs of entries as one int."""

from __future__ import annotations

from random import Random

import pytest

from rillway.pipeline.wire.ids import (
    MAX_ID,
    MIN_ID,
    MS,
    NONE,
    NS,
    US,
    age_ms,
    format_id,
    id_of_time,
    make_id,
    ms_of,
    parse_id,
    recognised,
    time_ms,
)


def test_an_id_is_read_and_written() -> None:
    assert parse_id("5-2") == parse_id(b"5-2") == make_id(5, 2)
    assert parse_id("5") == make_id(5)
    assert format_id(make_id(5, 2)) == "5-2"
    assert ms_of(make_id(5, 2)) == 5
    assert (format_id(MIN_ID), format_id(MAX_ID)) == (
        "0-0",
        "18446744073709551615-18446744073709551615",
    )


def test_the_next_id_is_one_more() -> None:
    assert format_id(parse_id("5-18446744073709551615") + 1) == "6-0"


@pytest.mark.parametrize("text", ["", "-", "x", "5-", "5-x", "-5", "1-2-3", "18446744073709551616"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no ID of an entry"):
        parse_id(text)


NOW_MS = 1_795_000_000_000  # in November 2026
YEAR_MS = 31_557_600_000
TWITTER_MS, DISCORD_MS, INSTAGRAM_MS = 1_288_834_974_657, 1_420_070_400_000, 1_314_220_021_721


def ids(*values: int) -> list[int]:
    return [make_id(value) for value in reversed(values)]


def snowflakes(since_ms: int, shift: int, low: int = 0) -> list[int]:
    """Those of an hour, by a worker that counts from 0 in each millisecond."""
    times = range(NOW_MS - 3_600_000, NOW_MS, 36_007)
    return ids(*((ms - since_ms) << shift | low for ms in times))


@pytest.mark.parametrize(
    ("newest", "unit"),
    [
        (ids(NOW_MS), MS),
        (ids(1, NOW_MS), MS),
        (ids(1_000_000_000_000), MS),
        (ids(4_102_444_799_999), MS),
        (ids(NOW_MS * 1_000), US),
        (ids((NOW_MS - 20 * YEAR_MS) * 1_000 + 7), US),
        (ids(NOW_MS * 1_000_000 + 7), NS),
        (ids((NOW_MS - 5 * YEAR_MS) * 1_000_000), NS),
        (ids(0), NONE),
        (ids(1, 2, 3), NONE),
        (ids(NOW_MS // 1_000), NONE),
        (ids(2**64 - 1), NONE),
        (ids((NOW_MS + YEAR_MS) * 1_000), NONE),
        (snowflakes(TWITTER_MS, 22, 3 << 12), NONE),
        (snowflakes(DISCORD_MS, 22, 5 << 12), NONE),
        (snowflakes(INSTAGRAM_MS, 23, 1_341 << 10), NONE),
        (snowflakes(NOW_MS - 10 * YEAR_MS, 22), NONE),
        # Too few to tell a snowflake from a time.
        (ids((NOW_MS - 5 * YEAR_MS) * 1_000_000 + 7), NONE),
    ],
)
def test_a_unit_is_recognised_by_the_newest_ids(newest: list[int], unit: str) -> None:
    assert recognised(newest, NOW_MS) == unit


def test_nanoseconds_of_the_past_are_recognised_by_their_last_digits() -> None:
    random = Random(7)
    first = (NOW_MS - 5 * YEAR_MS) * 1_000_000
    times = sorted(first + random.randrange(10**9) for _ in range(100))
    assert recognised(ids(*times), NOW_MS) == NS


@pytest.mark.parametrize(("unit", "factor"), [(MS, 1), (US, 1_000), (NS, 1_000_000)])
def test_a_time_is_the_first_id_of_its_millisecond(unit: str, factor: int) -> None:
    assert id_of_time(NOW_MS, unit) == make_id(NOW_MS * factor)
    assert time_ms(make_id(NOW_MS * factor + factor - 1, 5), unit) == NOW_MS
    assert time_ms(make_id((NOW_MS + 1) * factor), unit) == NOW_MS + 1


def test_ids_of_no_unit_have_no_time() -> None:
    assert (time_ms(make_id(5), NONE), id_of_time(5, NONE), age_ms(5, NONE, NOW_MS)) == (
        None,
        None,
        None,
    )


def test_a_made_up_id_has_no_age() -> None:
    assert age_ms(make_id(NOW_MS - 5), MS, NOW_MS) == 5
    assert age_ms(make_id(NOW_MS + 5), MS, NOW_MS) == 0
    assert age_ms(make_id(0, 1), MS, NOW_MS) is None
    assert age_ms(make_id(NOW_MS * 1_000), MS, NOW_MS) is None
