"""Times, durations and sizes as users write them."""

from __future__ import annotations

import pytest

from rillway.pipeline.wire.quantities import parse_bytes, parse_duration, parse_time


def test_times_are_unix_milliseconds_or_iso_8601() -> None:
    assert parse_time("1700000000123") == 1_700_000_000_123
    assert parse_time("2023-11-14T22:13:20.123Z") == 1_700_000_000_123
    assert parse_time("2023-11-14T23:13:20.123+01:00") == 1_700_000_000_123
    assert parse_time("2023-11-14 22:13:20") == 1_700_000_000_000
    assert parse_time("2023-11-14") == 1_699_920_000_000
    for text in ("1969-12-31", "x", str(2**64)):
        with pytest.raises(ValueError, match=r"older|expected"):
            parse_time(text)


def test_durations_and_sizes_have_units() -> None:
    durations = ("90s", "250ms", "5m", "1.5h", "2d", "0")
    assert [parse_duration(text) for text in durations] == [90, 0.25, 300, 5400, 172_800, 0]
    sizes = ("5", "5b", "1k", "64mb", "1GiB")
    assert [parse_bytes(text) for text in sizes] == [5, 5, 1024, 64 << 20, 1 << 30]
    for text in ("", "m", "-5", "5 weeks"):
        with pytest.raises(ValueError, match=r"expected a time with a unit .*, such as 60s; not"):
            parse_duration(text)
    with pytest.raises(ValueError, match="such as 5s, 5ms or 5m; not '5'"):
        parse_duration("5")
    for text in ("", "m", "-5", "5 weeks", "0", "1i"):
        with pytest.raises(ValueError, match="expected a size with a unit, such as 1gb; not"):
            parse_bytes(text)
