"""Groups, consumers and pending entries, of each server."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from rillway.console.data.groups import read_consumers, read_groups, read_pending
from rillway.console.data.link import Link

pytestmark = pytest.mark.integration


@pytest.fixture
def stream(real: Any) -> Any:
    """Ten entries, of which anna has three; a second group has nothing."""
    for number in range(1, 11):
        real.xadd("s", {"n": number}, id=f"{number}-0")
    real.xgroup_create("s", "g", id="0")
    real.xgroup_create("s", b"\xff", id="$")
    real.xreadgroup("g", "anna", {"s": ">"}, count=3)
    return real


async def test_groups(link: Link, stream: Any) -> None:
    found = {group.name: group for group in await read_groups(link, 0, b"s")}
    group = found[b"g"]
    assert (group.lag, group.pending, group.entries_read, group.consumer_count) == (7, 3, 3, 1)
    assert (group.oldest_id, group.last_delivered_id) == ("1-0", "3-0")
    assert found[b"\xff"].pending == 0 and found[b"\xff"].oldest_id is None


async def test_policies_are_read_where_the_server_has_them(link: Link, stream: Any) -> None:
    is_rillway = "rillway_version" in stream.info("server")
    if is_rillway:
        stream.execute_command("XGROUP", "CONFIG", "s", "g", "ACK-WAIT", 60_000)
    found = {group.name: group for group in await read_groups(link, 0, b"s", policies=True)}
    assert found[b"g"].waits_for == ({"deadline": 3} if is_rillway else {})
    other = found[b"\xff"]
    assert (other.policy, other.due) == ({} if is_rillway else None, None)


async def test_consumers(link: Link, stream: Any) -> None:
    [consumer] = await read_consumers(link, 0, b"s", b"g")
    assert (consumer.name, consumer.pending) == (b"anna", 3)
    assert await read_consumers(link, 0, b"s", b"\xff") == []


async def test_pending_entries(link: Link, stream: Any) -> None:
    found = await read_pending(link, 0, b"s", b"g", after="1-0", limit=5)
    assert [(one.id, one.consumer, one.deliveries) for one in found] == [
        ("2-0", b"anna", 1),
        ("3-0", b"anna", 1),
    ]
    assert await read_pending(link, 0, b"s", b"g", consumer=b"bert") == []


async def test_an_unknown_stream_or_group_is_an_error(link: Link, stream: Any) -> None:
    with pytest.raises(redis.ResponseError, match="no such key"):
        await read_groups(link, 0, b"t")
    with pytest.raises(redis.ResponseError, match="NOGROUP"):
        await read_pending(link, 0, b"s", b"h")
