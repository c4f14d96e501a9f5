"""What the entries of a group wait for."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.sampler.figures import GroupFigures, PolicyValue, StreamFigures
from rillway.sampler.waits import (
    entry_wait,
    policy_figures,
    schedule_text,
    scheduled_figures,
    waits_text,
)

NOW_MS = 1_795_608_005_000


def group(lag: int | None = 0, **policy: PolicyValue) -> GroupFigures:
    named = {name.replace("_", "-"): value for name, value in policy.items()}
    return GroupFigures(b"g", lag, 9, 0, "0-0", **policy_figures(named, lag))


def test_without_a_policy_nothing_is_known() -> None:
    assert policy_figures({}, 3) == {"policy": {}}
    assert policy_figures(None, 3) == {"policy": None}
    assert waits_text(GroupFigures(b"g", 3, 9, 0, "0-0"), NOW_MS) == ""


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (group(ack_wait=5), ""),
        (group(due=3, before_deadline=12), "3 for a read, 12 for a deadline"),
        (
            group(due=0, before_deadline=2, next_due=NOW_MS + 8000),
            "2 for a deadline, the next in 8.0 s",
        ),
        (group(due=0, backoff=[5, 9], in_pause=4), "4 for a back-off"),
        (group(due=0, in_pause=4), "4 for a delay"),
        (
            group(1200, held=1, max_pending=16, before_deadline=16),
            "1,200 for room (MAX-PENDING 16 is reached), 16 for a deadline",
        ),
        (
            group(None, held=1, max_pending=16),
            "an unknown number for room (MAX-PENDING 16 is reached)",
        ),
        (group(0, held=1, max_pending=16), ""),
        (group(due=1, reserved=7), "1 for a read, 7 for a key"),
        (
            group(3, due=0, reserved=7, key_held=1, key_lookahead=7),
            "3 for room (KEY-LOOKAHEAD 7 is reached), 7 for a key",
        ),
    ],
)
def test_each_wait_is_named_with_its_number(found: GroupFigures, text: str) -> None:
    assert waits_text(found, NOW_MS) == text


def test_what_very_many_pending_entries_wait_for_is_left_out() -> None:
    found = group(due=70_000, backoff=[5])
    assert (found.delayed, found.waits_for) == (None, {"read": 70_000})


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({}, ""),
        ({"scheduled": 0}, ""),
        ({"scheduled": 2}, "2 for their time (DELAY)"),
        (
            {"scheduled": 2, "scheduled-next": NOW_MS + 60_000},
            "2 for their time (DELAY), the next in 1 min",
        ),
        ({"scheduled": 1, "scheduled-next": 7}, "1 for their time (DELAY), the next in 0.0 s"),
    ],
)
def test_scheduled_entries_are_counted(reply: dict[str, Any], text: str) -> None:
    assert schedule_text(StreamFigures(0, b"s", 0, 0, **scheduled_figures(reply)), NOW_MS) == text


@pytest.mark.parametrize(
    ("idle_ms", "deliveries", "text"),
    [
        (400, 1, "its deadline, in 0.6 s"),
        (1500, 1, "its back-off, 4.5 s more"),
        (1500, 2, "its back-off, 8.5 s more"),
        (11_000, 2, "a read"),
        (400, 3, "dead letters, in 0.6 s"),
        (1500, 3, "dead letters"),
        (None, 2, "a read, or its pause"),
    ],
)
def test_one_entry_waits_for(idle_ms: int | None, deliveries: int, text: str) -> None:
    policy: dict[str, PolicyValue] = {
        "ack-wait": 1000, "backoff": [5000, 9000], "max-deliveries": 3,
    }  # fmt: skip
    assert entry_wait(policy, idle_ms, deliveries) == text


def test_without_a_deadline_only_released_entries_wait() -> None:
    assert entry_wait({"max-pending": 3}, 500, 1) == ""
    assert entry_wait({"max-pending": 3}, None, 1) == "a claim, or its delay"
    assert entry_wait(None, None, 1) == entry_wait({}, 500, 1) == ""
