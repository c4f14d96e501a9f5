"""One sample as plain lines."""

from __future__ import annotations

from dataclasses import replace

from docs.screenshots import example_view
from rillway.top.listing import listing
from rillway.top.state import State


def test_all_streams_come_first_then_groups_and_consumers_of_each() -> None:
    lines = listing(replace(example_view(State(columns=119)), history=None))
    assert lines[0].startswith("127.0.0.1:6379  Rillway 0.1.0  primary  up 3d04h  12.4k requests/s")
    assert len([line for line in lines if line.startswith("  shop:")]) == 10
    assert len([line for line in lines if line.startswith("  GROUP of ")]) == 12
    [carla] = [line for line in lines if "carla" in line]
    assert carla.split() == ["carla", "DEAD", "2m04s", "4", "-12", "12", "to", "anna"]
    assert not [line for line in lines if line.startswith(">") or "\x1b" in line]
