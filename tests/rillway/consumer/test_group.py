"""Each step that a consumer takes in its group, against both servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis

from rillway.consumer.entry import Entry
from rillway.consumer.group import Group, is_lost
from rillway.consumer.nodes import Nodes
from tests.rillway.consumer.scene import DEAD, GROUP, STREAM, Scene

pytestmark = pytest.mark.integration


@pytest.fixture
async def nodes(scene: Scene) -> AsyncIterator[Nodes]:
    nodes = Nodes(scene.url, {})
    yield nodes
    await nodes.aclose()


@pytest.fixture
async def group(nodes: Nodes) -> Group:
    group = Group(nodes, STREAM, GROUP, "me", "0")
    await group.ensure()
    return group


async def test_a_group_is_created_with_its_stream_and_once_is_enough(
    scene: Scene, group: Group
) -> None:
    assert scene.client.xlen(STREAM) == 0
    await group.ensure()
    assert len(scene.client.xinfo_groups(STREAM)) == 1


async def test_a_new_group_begins_where_it_is_told_to(scene: Scene, nodes: Nodes) -> None:
    _, second = scene.add("a", "b")
    for start, expected in [("0", ["a", "b"]), ("$", []), (second, [])]:
        group = Group(nodes, STREAM, f"from {start}", "me", start)
        await group.ensure()
        found = await group.read_new(10, None)
        assert [entry.fields[b"n"].decode() for entry in found] == expected


async def test_a_group_that_was_destroyed_goes_on_where_it_was(scene: Scene, group: Group) -> None:
    scene.add("a", "b")
    await group.read_new(10, None)
    scene.client.xgroup_destroy(STREAM, GROUP)
    (third,) = scene.add("c")
    await group.ensure()
    assert [entry.id for entry in await group.read_new(10, None)] == [third]


async def test_a_stream_that_was_created_again_is_read_from_its_beginning(
    scene: Scene, nodes: Nodes
) -> None:
    scene.add("a")
    group = Group(nodes, STREAM, GROUP, "me", "$")
    await group.ensure()
    scene.client.delete(STREAM)
    scene.client.xadd(STREAM, {"n": "b"}, id="1-1")
    await group.ensure()
    assert [entry.id for entry in await group.read_new(10, None)] == ["1-1"]
    scene.client.delete(STREAM)
    await group.ensure()
    scene.client.xadd(STREAM, {"n": "c"}, id="1-1")
    assert [entry.id for entry in await group.read_new(10, None)] == ["1-1"]


async def test_the_backlog_is_read_entry_by_entry_and_each_counts_as_delivered_again(
    scene: Scene, group: Group
) -> None:
    ids = scene.add("a", "b", "c")
    scene.deliver("me", 3)
    entry = await group.read_backlog("0")
    assert entry is not None
    assert (entry.id, entry.deliveries) == (ids[0], 2)
    assert [deliveries for _, deliveries in scene.pending().values()] == [2, 1, 1]
    entry = await group.read_backlog(ids[1])
    assert entry is not None
    assert entry.id == ids[2]
    assert await group.read_backlog(ids[2]) is None


async def test_an_entry_of_the_backlog_that_was_deleted_is_acknowledged(
    scene: Scene, group: Group
) -> None:
    ids = scene.add("a", "b", "c")
    scene.deliver("me", 3)
    scene.client.xdel(STREAM, ids[0], ids[2])
    entry = await group.read_backlog("0")
    assert entry is not None
    assert entry.id == ids[1]
    assert await group.read_backlog(ids[1]) is None
    assert list(scene.pending()) == [ids[1]]


async def test_an_idle_entry_is_claimed_by_one_only(scene: Scene, group: Group) -> None:
    (first,) = scene.add("a")
    scene.deliver("other", 1)
    assert await group.find_idle(60_000, 10) == []
    scene.client.xclaim(STREAM, GROUP, "other", 0, [first], idle=70_000, retrycount=4)
    assert await group.find_idle(60_000, 10) == [(first, 4)]
    claimed = await group.claim(first, 60_000, 4)
    assert claimed == Entry(first, ((b"n", b"a"),), 5)
    assert scene.pending() == {first: ("me", 5)}
    assert await group.claim(first, 60_000, 4) is None


async def test_a_claim_of_a_deleted_entry_is_no_entry(scene: Scene, group: Group) -> None:
    (first,) = scene.add("a")
    scene.deliver("other", 1)
    scene.client.xdel(STREAM, first)
    assert await group.claim(first, 0, 1) is None
    assert scene.pending() == {}


async def test_setting_the_idle_time_is_no_delivery(scene: Scene, group: Group) -> None:
    ids = scene.add("a", "b")
    scene.deliver("me", 1)
    scene.deliver("other", 1)
    assert await group.still_owned(ids) == ids[:1]
    await group.set_idle(ids[:1], 90_000)
    assert await group.find_idle(60_000, 10) == [(ids[0], 1)]
    await group.set_idle(ids[:1], 0)
    assert await group.find_idle(60_000, 10) == []


async def test_an_entry_is_moved_with_all_its_fields_and_where_it_came_from(
    scene: Scene, group: Group
) -> None:
    pairs = ((b"n", b"1"), (b"n", b"2"), (b"\xff", b""))
    words = [word for pair in pairs for word in pair]
    entry_id = scene.client.execute_command("XADD", STREAM, "*", *words).decode()
    scene.deliver("me", 1)
    assert await group.move(Entry(entry_id, pairs, 3), DEAD, "failed", "too heavy") == 1
    assert scene.pending() == {}
    scene.client.set_response_callback("XRANGE", lambda response, **options: response)
    ((_, moved),) = scene.client.execute_command("XRANGE", DEAD, "-", "+")
    origin = [
        *(b"rillway-stream", STREAM.encode(), b"rillway-group", GROUP.encode()),
        *(b"rillway-consumer", b"me", b"rillway-id", entry_id.encode()),
        *(b"rillway-deliveries", b"3", b"rillway-delivered"),
    ]
    *before, delivered_ms = moved[:-6]
    assert before == [*words, *origin]
    assert moved[-6:] == [
        *(b"rillway-cause", b"failed", b"rillway-error", b"too heavy", b"rillway-hops", b"1")
    ]
    seconds, _ = scene.client.time()
    assert abs(int(delivered_ms) - seconds * 1000) < 60_000


async def test_nothing_is_moved_to_a_key_that_is_no_stream(scene: Scene, group: Group) -> None:
    (first,) = scene.add("a")
    scene.deliver("me", 1)
    scene.client.set(DEAD, "taken")
    with pytest.raises(TypeError, match="orders:dead is a string"):
        await group.move(Entry(first, ((b"n", b"a"),), 1), DEAD, "failed", "")
    assert list(scene.pending()) == [first]


async def test_a_lost_group_is_told_from_other_errors(scene: Scene, group: Group) -> None:
    scene.client.delete(STREAM)
    with pytest.raises(redis.ResponseError) as no_group:
        await group.read_new(1, None)
    assert is_lost(no_group.value)
    scene.client.set(STREAM, "no stream")
    with pytest.raises(redis.ResponseError) as wrong_type:
        await group.read_new(1, None)
    assert not is_lost(wrong_type.value)
