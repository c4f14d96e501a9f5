"""Groups that show how far a query has read."""

from __future__ import annotations

import pytest

from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.spark.shadow_group import (
    group_position,
    pin,
    publish,
    read_groups,
    shadow_group,
)
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import read_facts
from rillway.pipeline.wire.ids import make_id
from tests.rillway.pipeline.scene import add_many

pytestmark = pytest.mark.integration


def test_the_group_is_named_after_the_query() -> None:
    assert shadow_group("sales") == "__spark:sales"


def test_progress_shows_as_lag(link: Connection) -> None:
    add_many(link, "s", 10)
    publish(link, "s", "g", Position(make_id(4), 4))
    (group,) = read_groups(link, "s")
    assert (group.name, group.position.id, group.lag) == ("g", make_id(4), 6)
    assert (group.consumers, group.pending) == (0, 0)
    publish(link, "s", "g", Position(make_id(10), 10))
    assert read_groups(link, "s")[0].lag == 0


def test_a_pin_stays_where_it_was_made(link: Connection) -> None:
    add_many(link, "s", 3)
    end = Position(make_id(3), 3)
    assert pin(link, "s", "g", read_facts(link, "s")) == end
    add_many(link, "s", 3, first=4)
    assert pin(link, "s", "g", read_facts(link, "s")) == end
    assert group_position(link, "s", "g") == end


def test_a_stream_that_is_gone_has_no_groups_and_none_is_made(link: Connection) -> None:
    publish(link, "missing", "g", Position(make_id(4), 4))
    assert read_groups(link, "missing") == []
    assert group_position(link, "missing", "g") is None
    assert link.call("EXISTS", "missing") == 0
