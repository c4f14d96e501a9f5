"""benchmarks/soak/rows.py: what decides that a bound is missed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.soak.abuses import MB
from benchmarks.soak.measurement import AFTER_BYTES, Measured, Memory
from benchmarks.soak.rows import ROOM_BYTES, ROWS, WAIT_MS, Row, misses

BEFORE = Memory(50 * MB, 50 * MB)
FINE = Measured("Rillway", 0.2, 1.0, WAIT_MS, 50.0, 1000, BEFORE, BEFORE, BEFORE)
ROW = Row("row", ROWS[0].abuse, 100 * MB, 5_000)


def resident(grown: int) -> Memory:
    return Memory(BEFORE.resident + grown, BEFORE.used)


def test_what_keeps_its_bounds_misses_nothing() -> None:
    kept = replace(FINE, peak=resident(100 * MB + ROOM_BYTES), after=resident(AFTER_BYTES))
    assert misses(ROW, replace(kept, figures={"bytes each": 5_000}), None, 1.0) == []


@pytest.mark.parametrize(
    ("measured", "reason"),
    [
        (replace(FINE, failures=["was not closed"]), "was not closed"),
        (replace(FINE, peak=resident(200 * MB)), "grew by 200 MB, more than 140"),
        (replace(FINE, after=resident(30 * MB)), "kept 30 MB, more than 20"),
        (
            replace(FINE, figures={"bytes each": 5_001}),
            "5001 bytes for each connection, more than 5000",
        ),
        (replace(FINE, p999=10.1), "p99.9 of the others 10.1 ms, more than 10.0"),
    ],
)
def test_each_bound_has_its_reason(measured: Measured, reason: str) -> None:
    assert misses(ROW, measured, None, 1.0) == [reason]


def test_memory_scales_and_time_counts_at_full_scale_only() -> None:
    grown = replace(FINE, p999=500.0, peak=resident(60 * MB))
    assert misses(ROW, grown, None, 0.1) == ["grew by 60 MB, more than 50"]
    assert misses(ROW, replace(grown, peak=BEFORE), None, 0.1) == []


def test_others_may_wait_twice_as_long_as_beside_redis() -> None:
    theirs = replace(FINE, p999=40.0)
    assert misses(ROW, replace(FINE, p999=80.0), theirs, 1.0) == []
    assert misses(ROW, replace(FINE, p999=80.1), theirs, 1.0) != []


def test_a_row_may_bound_the_longest_wait_or_the_p99_instead() -> None:
    longest = Row("row", ROWS[0].abuse, longest_ms=50.0)
    p99 = Row("row", ROWS[0].abuse, p99_ms=8.0)
    fine = replace(FINE, p999=500.0)
    assert misses(longest, fine, None, 1.0) == misses(p99, fine, None, 1.0) == []
    slow = replace(FINE, longest=66.0, p99=8.1)
    assert misses(longest, slow, None, 1.0) == [
        "longest wait of the others 66.0 ms, more than 50.0"
    ]
    assert misses(longest, slow, replace(FINE, longest=51.0), 1.0) == []
    assert misses(p99, slow, replace(FINE, p99=51.0), 1.0) == [
        "p99 of the others 8.1 ms, more than 8.0"
    ]


def test_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
