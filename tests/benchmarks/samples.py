"""A record with a few results, for the tests of what is made of one."""

from __future__ import annotations

from benchmarks.figures import Figure, Measure, Result, Row, Target
from benchmarks.record import Go, Record


def small_record() -> Record:
    """Three results: one with a target and a limit, one that grew, one that Redis has not got."""
    record = Record({"processor": "Z80"}, ("Rillway 1.0", "Redis 7.0.15"), {"pairs": 3})
    record.goes.append(Go("make bench", "c0ffee", "2026-01-01 10:00 UTC", "0.1", "0.9", 90.0, 3))
    small = Result(
        Row("xadd/small", targets=(Target(Measure.RATIO, 1.0),)),
        [Figure(value, 0.95, 0.5, 0.0, ceiling=900_000) for value in (110, 120, 130)],
        [Figure(100, 0.5, 0.95, 0.0) for _ in range(3)],
    )
    grown = Result(
        Row("growth/xadd-at-1M", targets=(Target(Measure.GROWTH, 0.9),), base="xadd/small"),
        [Figure(55), Figure(60), Figure(65)],
        [Figure(90), Figure(90), Figure(90)],
    )
    alone = Result(
        Row("pending/claim", unit="ms", lower_is_better=True),
        [Figure(3.14159, later=0.2, lines=("a line",))],
    )
    record.add([small, grown, alone])
    record.failures["memory/small"] = "ServerError: gone"
    return record
