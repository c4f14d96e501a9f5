"""A journal as it grows."""

from __future__ import annotations

import pytest

from rillway.pipeline.client.connection import Connection
from rillway.pipeline.latency.follower import Follower
from tests.rillway.pipeline.group_scene import pending_stream

pytestmark = pytest.mark.integration


def test_what_comes_in_is_counted_once(rillway_link: Connection) -> None:
    pending_stream(rillway_link, count=10)
    rillway_link.call("XCFGSET", "s", "ACK-JOURNAL", "j")
    with Connection(rillway_link.url) as other:
        follower = Follower(other, "j", "s", (), after=0)
        assert follower.next_tally(wait_ms=1).count == 0
        rillway_link.call("XACK", "s", "g", "1-0", "2-0", "3-0")
        assert follower.next_tally(wait_ms=1000).count == 3
        assert follower.next_tally(wait_ms=1).count == 0
        rillway_link.call("XACK", "s", "g", "4-0")
        assert follower.next_tally(wait_ms=1000).of("g", "c").count == 1


def test_other_groups_are_passed_over(rillway_link: Connection) -> None:
    pending_stream(rillway_link, count=2)
    rillway_link.call("XCFGSET", "s", "ACK-JOURNAL", "j")
    rillway_link.call("XACK", "s", "g", "1-0")
    with Connection(rillway_link.url) as other:
        follower = Follower(other, "j", "s", ("h",), after=0)
        assert follower.next_tally(wait_ms=1).count == 0
        assert follower.after > 0
