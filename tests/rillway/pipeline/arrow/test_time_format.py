"""Times in a pattern of Spark's, as ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.arrow.column_parser import TimeText, parse
from rillway.pipeline.arrow.schema import TIMESTAMP
from rillway.pipeline.arrow.time_format import TimeFormat


@pytest.mark.parametrize(
    ("pattern", "text", "iso"),
    [
        ("yyyy-MM-dd'T'HH:mm:ssX", "2026-01-02T12:00:00Z", "2026-01-02T12:00:00.0Z"),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2026-01-02T12:00:00+01", "2026-01-02T12:00:00.0+01:00"),
        ("yyyy-MM-dd'T'HH:mm:ssx", "2026-01-02T12:00:00Z", None),
        ("dd.MM.yyyy HH:mm", "02.01.2026 12:00", "2026-01-02T12:00:00.0"),
        ("dd.MM.yyyy HH:mm", "2.1.2026 12:00", None),
        ("d.M.yyyy H:m:s.SSSxx", "2.1.2026 3:4:5.123-0130", "2026-01-02T03:04:05.123-01:30"),
        ("yyyyMMddHHmmssSSSSSSSSS", "20260102030405123456789", "2026-01-02T03:04:05.123456"),
        ("yyyy''MM 'o''clock'", "2026'07 o'clock", "2026-07-01T00:00:00.0"),
        ("yyyy.MM", "2026-07", None),
    ],
)
def test_a_time_is_written_as_iso(pattern: str, text: str, iso: str | None) -> None:
    assert TimeFormat(pattern).iso(pa.array([text, None], pa.string())).to_pylist() == [iso, None]


@pytest.mark.parametrize("pattern", ["", "MMM", "h a", "yyyy yyyy", "[yyyy]", "'x", "EEEE", "X x"])
def test_what_cannot_be_read_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be read|quote it|not closed"):
        TimeFormat(pattern)


PATTERNS = {
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXX": "%Y-%m-%dT%H:%M:%S.%f%z",
    "dd/MM/yyyy HH.mm.ss xx": "%d/%m/%Y %H.%M.%S %z",
    "yyyyMMdd HHmm": "%Y%m%d %H%M",
}
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(
    st.sampled_from(sorted(PATTERNS)),
    st.lists(st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=ZONES)),
)
def test_times_are_read_as_strptime_reads_them(pattern: str, moments: list[datetime]) -> None:
    texts = [moment.strftime(PATTERNS[pattern]) for moment in moments]
    found, bad = parse(
        pa.array([text.encode() for text in texts], pa.binary()),
        TIMESTAMP,
        TimeText(format=TimeFormat(pattern)),
    )
    expected = [datetime.strptime(text, PATTERNS[pattern]) for text in texts]
    assert not bad
    assert found.to_pylist() == [
        each.replace(tzinfo=each.tzinfo or UTC).astimezone(UTC) for each in expected
    ]


def test_a_date_that_there_is_not_and_another_form_are_no_times() -> None:
    texts = pa.array([b"30.02.2026", b"2026-01-02", None, b"02.01.2026"], pa.binary())
    found, bad = parse(texts, pa.timestamp("us"), TimeText(format=TimeFormat("dd.MM.yyyy")))
    assert bad == [0, 1]
    assert found.to_pylist() == [None, None, None, datetime(2026, 1, 2)]
