"""Rounds as lines and as objects."""

from __future__ import annotations

import json

from rillway.pipeline.archive.groups import Holdup
from rillway.pipeline.archive.identity.recognition import OtherSource
from rillway.pipeline.archive.lease import LeaseTaken
from rillway.pipeline.archive.report.rounds import (
    Round,
    RoundOutcome,
    Stopwatch,
    StreamReport,
    as_json,
    idle_summary,
    left_out,
    summary,
    total,
)
from rillway.pipeline.wire.ids import parse_id

END = parse_id("9-0")
HOLDUP = Holdup("orders", "billing", parse_id("3-0"), True, 2, None, 5_000)


def a_round(**changes: object) -> Round:
    reports = {
        "orders": StreamReport("orders", 9, 1, 2, "script", END, 7, 2, 1, holdups=[HOLDUP]),
        "clicks": StreamReport("clicks", is_missing=True),
    }
    failures: dict[str, Exception] = {"jobs": OtherSource("jobs: is archived up to 5-0")}
    outcome = RoundOutcome(reports, failures, commits=1, files=2, bytes=3_000, conflicts=1)
    return Round(1_700_000_000_123, 2.0, {"write": 1.5}, outcome)


def test_an_object_has_all_that_happened() -> None:
    found = json.loads(json.dumps(as_json(a_round())))
    assert found["time_ms"] == 1_700_000_000_123
    assert found["seconds_by_phase"] == {"write": 1.5}
    numbers = ("entries", "trimmed", "commits", "conflicts", "files", "bytes", "error")
    assert [found[name] for name in numbers] == [9, 2, 1, 1, 2, 3_000, None]
    orders, clicks = found["streams"]
    assert (orders["end"], orders["epoch"], orders["lag"]) == ("9-0", 2, 1)
    assert orders["held_up"] == [
        {
            "group": "billing",
            "reason": "pending",
            "first_needed": "3-0",
            "pending": 2,
            "unread": None,
            "since_ms": 5_000,
        }
    ]
    assert (clicks["missing"], clicks["end"], clicks["epoch"], clicks["lag"]) == (
        True,
        None,
        None,
        None,
    )
    assert found["left_out"] == [
        {"stream": "jobs", "reason": "OtherSource", "text": "jobs: is archived up to 5-0"}
    ]


def test_a_round_that_an_error_has_ended_has_it() -> None:
    found = as_json(Round(1, 0.5, {}, error="no connection"))
    assert (found["error"], found["entries"], found["streams"]) == ("no connection", 0, [])


def test_lines_are_for_people() -> None:
    outcome = a_round().outcome
    assert summary(outcome.reports["orders"]) == (
        "orders: 9 archived in 1 batch; 2 trimmed; 7 in memory; archived up to 9-0; "
        "held up by billing:pending"
    )
    assert summary(outcome.reports["clicks"]).endswith("0 in memory; not in memory at all")
    assert total(outcome, 3.0) == (
        "2 streams: 9 archived in 1 commit, 2 files, 3,000 bytes; 3.0 s, 3 a second"
    )


def test_streams_without_news_are_one_line() -> None:
    reports = [StreamReport("a", remaining=1), StreamReport("b")]
    assert idle_summary(reports[:1]) == summary(reports[0])
    assert idle_summary(reports) == "2 streams: nothing to archive or to trim"


def test_streams_of_other_archivers_are_one_line() -> None:
    taken = {f"s{n}": LeaseTaken(f"archiving s{n}: pid 7 is already active") for n in range(3)}
    failures: dict[str, Exception] = {"jobs": OtherSource("jobs: another server"), **taken}
    assert [text for _, text in left_out(RoundOutcome({}, failures))] == [
        "jobs: another server",
        "archiving s0: pid 7 is already active (and 2 more streams)",
    ]


def test_the_time_goes_to_the_phase_that_it_ends() -> None:
    now = [10.0]
    watch = Stopwatch(lambda: now[0])
    for step, seconds in [("recognised", 1), ("written", 4), ("committed", 2), ("written", 3)]:
        now[0] += seconds
        watch.reached(step)
    assert watch.by_phase["recognise"] == 1
    assert watch.by_phase["write"] == 7
    assert watch.by_phase["commit"] == 2
    assert sum(watch.by_phase.values()) == 10
