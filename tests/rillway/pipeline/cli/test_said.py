"""Lines that are left out because they were printed a moment ago."""

from __future__ import annotations

from rillway.pipeline.cli.said import Said


def test_what_is_said_is_not_said_again_for_a_minute() -> None:
    now = [10.0]
    said = Said(lambda: now[0])
    assert (said.lets("a"), said.lets("a"), said.lets("b")) == (True, False, True)
    now[0] += 59.9
    assert not said.lets("a")
    now[0] += 0.2
    assert (said.lets("a"), said.lets("a")) == (True, False)
