"""What a policy means in a sentence, and what is warned of."""

from __future__ import annotations

import pytest

from rillway.pipeline.policy.change import Policies
from rillway.pipeline.policy.sentences import group_meaning, stream_meaning, warnings
from rillway.pipeline.policy.settings import Value

DAY = 86_400_000


@pytest.mark.parametrize(
    ("policy", "meaning"),
    [
        ({}, "nothing is removed by itself"),
        ({"retain-ms": 7 * DAY}, "entries are removed that are older than 7 d"),
        (
            {"retain-ms": 7 * DAY, "retain-len": 1000, "retain-refs": "ACKED"},
            "entries are removed that are older than 7 d or exceed a length of 1,000, "
            "but none before each living group has acknowledged it",
        ),
        ({"retain-acked": True}, "an entry is removed once each group has acknowledged it"),
        (
            {"retain-bytes": 1 << 30, "retain-refs": "DELREF"},
            "entries are removed that exceed 1.0 GB; "
            "references of groups go along with what is removed",
        ),
    ],
)
def test_of_a_stream(policy: dict[str, Value], meaning: str) -> None:
    assert stream_meaning("orders", policy) == f"orders: {meaning}"


@pytest.mark.parametrize(
    ("policy", "meaning"),
    [
        ({}, "an entry that is not acknowledged stays with its consumer until another claims it"),
        (
            {
                "ack-wait": 30_000,
                "backoff": (1000, 10_000, 60_000),
                "max-deliveries": 5,
                "dead-letter": "orders:dead",
            },
            "an entry that is not acknowledged within 30 s goes to another consumer after 1 s, "
            "then 10 s, and 1 min from then on; after 5 deliveries it moves to orders:dead",
        ),
        (
            {"ack-wait": 500, "max-pending": 1, "consumer-expiry": DAY},
            "an entry that is not acknowledged within 500 ms goes to another consumer; at most "
            "1 entry is worked on at a time; a consumer that was not seen for 1 d is deleted, "
            "its entries go to others",
        ),
        (
            {"ack-wait": 500, "key-field": "customer"},
            "an entry that is not acknowledged within 500 ms goes to another consumer; entries "
            "with the same 'customer' are delivered in order, to one consumer at a time",
        ),
        (
            {"key-field": "k", "key-lookahead": 1000, "key-lookahead-key": 1},
            "entries with the same 'k' are delivered in order, to one consumer at a time (up to "
            "1,000 entries wait for consumers that have their keys, up to 1 entry of one key)",
        ),
    ],
)
def test_of_a_group(policy: dict[str, Value], meaning: str) -> None:
    assert group_meaning("orders", "workers", policy) == f"orders/workers: {meaning}"


def test_what_cannot_work_well_is_warned_of() -> None:
    short: dict[str, Value] = {"retain-ms": 5000}
    waits: dict[str, Value] = {"ack-wait": 1000, "backoff": (10_000,)}
    [pause] = warnings(Policies(short, waits), [])
    assert pause.startswith("a pause of 10 s between deliveries is longer than entries are kept")
    assert warnings(Policies({**short, "retain-refs": "ACKED"}, waits), ["__archive:1:2"]) == []
    [archive] = warnings(Policies(short, {}), ["__archive:1:2"])
    assert "archive" in archive
    [idle] = warnings(Policies({"group-max-idle": 1}, {}), [])
    assert "--group-max-idle does nothing" in idle
    [expiry] = warnings(Policies({}, {"consumer-expiry": 1}), [])
    assert "without --ack-wait" in expiry
