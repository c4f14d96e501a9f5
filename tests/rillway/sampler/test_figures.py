"""Figures, and their form as JSON."""

from __future__ import annotations

import pytest

from rillway.sampler.figures import (
    GroupFigures,
    LatencyFigures,
    ServerFigures,
    SlowRequest,
    StreamFigures,
    age_ms,
)

NOW_MS = 1_795_608_005_000


def test_unknown_is_null_and_rates_are_rounded() -> None:
    group = GroupFigures(b"g", None, 3, None, "0-0", dead_count=2)
    stream = StreamFigures(0, b"s", NOW_MS, 5, in_per_s=1 / 3, groups=(group,))
    converted = stream.as_json()
    assert converted["lag"] is None and converted["in_per_s"] == 0.333
    assert converted["groups"][0]["name"] == "g" and converted["groups"][0]["consumers"] is None
    assert stream.dead_count == 2


def test_keys_of_maps_are_text() -> None:
    server = ServerFigures(databases={0: 5}, latency={"XADD": LatencyFigures(9, 1)})
    converted = server.as_json()
    assert converted["databases"] == {"0": 5}
    assert converted["latency"]["XADD"]["p50_us"] == 1


def test_words_of_a_slow_request_are_text_where_they_can_be() -> None:
    slow = SlowRequest(1, NOW_MS, 5, (b"XADD", b"\xff"))
    assert slow.as_json()["words"] == ["XADD", {"base64": "/w=="}]


@pytest.mark.parametrize(
    ("entry_id", "age"),
    [
        (f"{NOW_MS - 200}-5", 200),
        (f"{NOW_MS + 5000}-0", 0),
        (f"{NOW_MS + 4_000_000}-0", None),
        ("17-0", None),
        (None, None),
    ],
)
def test_only_ids_that_are_times_have_an_age(entry_id: str | None, age: int | None) -> None:
    assert age_ms(entry_id, NOW_MS) == age
