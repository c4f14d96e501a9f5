"""Entries that are added later, on both servers."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rillway.consumer.delays import Delays, member
from rillway.consumer.nodes import Nodes
from tests.rillway.consumer.scene import STREAM, Scene

pytestmark = pytest.mark.integration

LATER = f"{STREAM}:later"
# Whatever a JSON string or a script could spoil.
PAIRS = (
    (b"n", b"1"), (b"n", b"2"), (b"\xff\x00", b"\"\\\n\x1f"), (b"", "gr\u00fcn".encode()),
)  # fmt: skip


def words(client: Any) -> list[bytes]:
    client.set_response_callback("XRANGE", lambda response, **options: response)
    return [word for _, flat in client.execute_command("XRANGE", STREAM, "-", "+") for word in flat]


async def until_moved(delays: Delays, scene: Scene) -> None:
    deadline = time.monotonic() + 60
    while not scene.client.xlen(STREAM):
        assert time.monotonic() < deadline
        await delays.move_due()


async def test_an_entry_comes_later_as_it_is(scene: Scene) -> None:
    nodes = Nodes(scene.url, {})
    delays = Delays(nodes, STREAM)
    await delays.add(PAIRS, 1)
    await until_moved(delays, scene)
    assert words(scene.client) == [word for pair in PAIRS for word in pair]
    assert await delays.move_due() is None
    await nodes.aclose()


async def test_an_entry_that_is_not_due_waits(scene: Scene) -> None:
    nodes = Nodes(scene.url, {})
    delays = Delays(nodes, STREAM)
    await delays.add(PAIRS, 3_600_000)
    wait = await delays.move_due()
    if delays.are_here:  # on a server without delays
        assert wait is not None
        assert 3_500_000 < wait <= 3_600_000
        assert scene.client.zcard(LATER) == 1
    else:
        assert wait is None
        assert len(scene.client.execute_command("XSCHEDULED", STREAM)) == 1
    assert scene.client.xlen(STREAM) == 0
    await nodes.aclose()


async def test_members_as_people_write_them_are_moved_too(scene: Scene) -> None:
    nodes = Nodes(scene.url, {})
    delays = Delays(nodes, STREAM)
    scene.client.zadd(LATER, {'{"name": "x", "task": "remind"}': 1, member(((b"a", b"b"),)): 2})
    delays.are_here = True
    assert await delays.move_due() is None
    found = words(scene.client)
    assert dict(zip(found[:4:2], found[1:4:2], strict=True)) == {b"name": b"x", b"task": b"remind"}
    assert found[4:] == [b"a", b"b"]
    await nodes.aclose()


async def test_what_waits_is_found_by_consumers_that_did_not_delay_it(redis_scene: Scene) -> None:
    nodes = Nodes(redis_scene.url, {})
    delays = Delays(nodes, STREAM)
    await delays.look()
    assert not delays.are_here
    redis_scene.client.zadd(LATER, {member(PAIRS): 1})
    await delays.look()
    assert delays.are_here
    await nodes.aclose()
