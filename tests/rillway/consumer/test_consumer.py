"""A consumer at work, against both servers: order, failures, claims, stops, lost connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis

from rillway.client import PartitionedStream
from rillway.consumer import Consumer, Entry, GiveUp
from rillway.testing import RillwayServer
from tests.rillway.consumer.scene import DEAD, GROUP, STREAM, Scene

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 60.0
# An idle time that is long for an entry in work, and short to wait for.
IDLE_MS = 150


class Recorder:
    """A handler that notes what it was given; what more it does is up to `then`."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.then: Callable[[Entry], Any] = lambda entry: None

    async def __call__(self, entry: Entry) -> None:
        self.entries.append(entry)
        result = self.then(entry)
        if result is not None:
            await result

    @property
    def values(self) -> list[str]:
        return [entry.fields[b"n"].decode() for entry in self.entries]


def make(scene: Scene, name: str = "c", **settings: Any) -> Consumer:
    return Consumer(scene.url, stream=STREAM, group=GROUP, name=name, **settings)


async def run_until(consumer: Consumer, handle: Any, condition: Callable[[], bool]) -> None:
    """Runs the consumer until the condition holds, and stops it."""
    running = asyncio.ensure_future(consumer.run(handle))
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, (consumer.counts, handle)
        if running.done():
            running.result()
            raise AssertionError("the consumer ended by itself")
        await asyncio.sleep(0.005)
    consumer.stop()
    await asyncio.wait_for(running, DEADLINE_SECONDS)


async def until_it_blocks(scene: Scene) -> None:
    """Waits for the one consumer to wait."""
    while not scene.client.info("clients")["blocked_clients"]:
        await asyncio.sleep(0.005)


# -- order ----------------------------------------------------------------------------------------


async def test_the_backlog_comes_before_what_is_new(scene: Scene) -> None:
    scene.create_group()
    scene.add("left 1", "left 2", "of another")
    scene.deliver("c", 2)
    scene.deliver("other", 1)
    scene.add("new 1", "new 2")
    consumer, handle = make(scene), Recorder()
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 4)
    assert handle.values == ["left 1", "left 2", "new 1", "new 2"]
    assert [entry.deliveries for entry in handle.entries] == [2, 2, 1, 1]
    assert (consumer.counts.backlog, consumer.counts.new) == (2, 2)
    assert [owner for owner, _ in scene.pending().values()] == ["other"]


async def test_entries_are_read_as_they_come(scene: Scene) -> None:
    consumer, handle = make(scene, start="$", block_ms=0), Recorder()

    def feed() -> bool:
        if not handle.entries and scene.client.exists(STREAM):
            scene.add("first")
        return handle.values[-1:] == ["second"]

    handle.then = lambda entry: scene.add("second") and None
    await run_until(consumer, handle, feed)
    assert handle.values[0] == "first"


# -- failures -------------------------------------------------------------------------------------


async def test_what_fails_stays_pending_and_is_tried_again_at_the_next_start(
    scene: Scene,
) -> None:
    scene.add("good", "bad", "good")

    def fail_once(entry: Entry) -> None:
        if entry.fields[b"n"] == b"bad" and entry.deliveries == 1:
            raise ValueError("not today")

    handle = Recorder()
    handle.then = fail_once
    first, second = make(scene), make(scene)
    await run_until(first, handle, lambda: first.counts.acknowledged == 2)
    assert first.counts.failed == 1
    assert len(scene.pending()) == 1
    await run_until(second, handle, lambda: second.counts.acknowledged == 1)
    assert handle.values == ["good", "bad", "good", "bad"]
    assert scene.pending() == {}


async def test_a_poison_message_ends_in_the_dead_letter_stream_and_stops_nothing_else(
    scene: Scene,
) -> None:
    ids = scene.add("good", "poison", "good")

    def fail(entry: Entry) -> None:
        if entry.fields[b"n"] == b"poison":
            raise ValueError("cannot be read")

    handle = Recorder()
    handle.then = fail
    consumer = make(scene, claim_idle_ms=50, max_deliveries=3, dead_letters=DEAD)
    await run_until(consumer, handle, lambda: consumer.counts.dead_lettered == 1)
    assert handle.values == ["good", "poison", "good", "poison", "poison"]
    ((_, letter),) = scene.client.xrange(DEAD)
    assert letter[b"n"] == b"poison"
    assert letter[b"rillway-id"].decode() == ids[1]
    assert letter[b"rillway-deliveries"] == b"3"
    assert letter[b"rillway-error"] == b"ValueError: cannot be read"
    assert letter[b"rillway-cause"] == b"failed"
    assert scene.pending() == {}
    assert (consumer.counts.failed, consumer.counts.acknowledged) == (3, 2)


async def test_an_entry_that_ended_its_consumers_too_often_is_not_tried_again(
    scene: Scene,
) -> None:
    scene.create_group()
    deadly, neighbour = scene.add("deadly", "neighbour")
    scene.deliver("c", 2)
    scene.client.xclaim(STREAM, GROUP, "c", 0, [deadly], retrycount=2)
    consumer, handle = make(scene, max_deliveries=2, dead_letters=DEAD), Recorder()
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 1)
    assert [entry.id for entry in handle.entries] == [neighbour]
    ((_, letter),) = scene.client.xrange(DEAD)
    assert (letter[b"rillway-id"].decode(), letter[b"rillway-deliveries"]) == (deadly, b"2")


async def test_dead_letters_that_cannot_be_kept_end_the_run_and_nothing_is_lost(
    scene: Scene,
) -> None:
    (poison,) = scene.add("poison")
    scene.client.set(DEAD, "in the way")
    handle = Recorder()
    handle.then = lambda entry: 1 / 0
    with pytest.raises(GiveUp, match="orders:dead is a string"):
        await make(scene, max_deliveries=1, dead_letters=DEAD).run(handle)
    assert list(scene.pending()) == [poison]


async def test_a_handler_that_gives_up_ends_the_run_and_leaves_the_entry(scene: Scene) -> None:
    (first,) = scene.add("a")

    async def handle(entry: Entry) -> None:
        raise GiveUp("out of paper")

    with pytest.raises(GiveUp, match="out of paper"):
        await make(scene).run(handle)
    assert list(scene.pending()) == [first]


# -- claims ---------------------------------------------------------------------------------------


async def test_two_consumers_that_race_for_a_dead_ones_entries_handle_each_once(
    scene: Scene,
) -> None:
    scene.create_group()
    scene.add(*range(40))
    scene.deliver("dead", 40)
    scene.age("dead", 60_000)
    handle = Recorder()
    handle.then = lambda entry: asyncio.sleep(0)
    racers = [make(scene, name, claim_idle_ms=60_000) for name in ("c1", "c2")]
    first = asyncio.ensure_future(
        run_until(racers[0], handle, lambda: len(handle.entries) >= 40 and not scene.pending())
    )
    await run_until(racers[1], handle, first.done)
    assert sorted(map(int, handle.values)) == list(range(40))
    assert {entry.deliveries for entry in handle.entries} == {2}
    assert sum(racer.counts.claimed for racer in racers) == 40
    assert sum(racer.counts.acknowledged for racer in racers) == 40


async def test_an_entry_in_work_is_not_taken_over_however_long_it_takes(scene: Scene) -> None:
    scene.add("long", "waiting")
    idle_ms = 1000
    slow, quick = Recorder(), Recorder()

    async def take_long(entry: Entry) -> None:
        if entry.fields[b"n"] == b"long":
            await asyncio.sleep(2.2 * idle_ms / 1000)

    slow.then = take_long
    holder = make(scene, "c1", claim_idle_ms=idle_ms)
    hunter = make(scene, "c2", claim_idle_ms=idle_ms)
    holding = asyncio.ensure_future(holder.run(slow))
    while not slow.entries:
        await asyncio.sleep(0.005)
    await run_until(hunter, quick, lambda: scene.pending() == {})
    holder.stop()
    await holding
    assert slow.values == ["long", "waiting"]
    assert quick.values == []


async def test_what_was_taken_over_while_the_loop_stood_still_is_not_handled_again(
    scene: Scene,
) -> None:
    scene.add("blocking", "taken", "mine")

    def block_the_loop(entry: Entry) -> None:
        if entry.fields[b"n"] == b"blocking":
            time.sleep(IDLE_MS / 1000)
            taken = list(scene.pending())[1]
            scene.client.xclaim(STREAM, GROUP, "other", IDLE_MS // 2, [taken])

    handle = Recorder()
    handle.then = block_the_loop
    consumer = make(scene, claim_idle_ms=IDLE_MS)
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 2)
    assert handle.values == ["blocking", "mine"]
    assert consumer.counts.lost == 1
    assert [owner for owner, _ in scene.pending().values()] == ["other"]


# -- stops ----------------------------------------------------------------------------------------


async def test_a_stop_ends_a_read_that_would_block_for_ever(scene: Scene) -> None:
    consumer = make(scene, block_ms=0)
    running = asyncio.ensure_future(consumer.run(Recorder()))
    await until_it_blocks(scene)
    consumer.stop()
    await asyncio.wait_for(running, DEADLINE_SECONDS)


async def test_a_stop_lets_the_entry_at_hand_finish_and_gives_back_the_others(
    scene: Scene,
) -> None:
    scene.add("at hand", "not begun", "not begun")
    consumer, heir = (
        make(scene, "c1", claim_idle_ms=60_000),
        make(scene, "c2", claim_idle_ms=60_000),
    )
    handle, inherited = Recorder(), Recorder()

    async def stop_and_go_on(entry: Entry) -> None:
        consumer.stop()
        await asyncio.sleep(0.05)

    handle.then = stop_and_go_on
    await asyncio.wait_for(consumer.run(handle), DEADLINE_SECONDS)
    assert handle.values == ["at hand"]
    assert consumer.counts.acknowledged == 1
    assert [deliveries for _, deliveries in scene.pending().values()] == [1, 1]
    # Without the gift it would have to wait for a minute.
    await run_until(heir, inherited, lambda: heir.counts.acknowledged == 2)
    assert inherited.values == ["not begun", "not begun"]


# -- lost connections and groups ------------------------------------------------------------------


async def test_a_lost_connection_is_made_again_and_the_backlog_read_again(scene: Scene) -> None:
    scene.create_group()
    consumer, handle = make(scene, block_ms=0), Recorder()
    handle.then = lambda entry: consumer.stop()
    running = asyncio.ensure_future(consumer.run(handle))
    await until_it_blocks(scene)
    # As if it had been delivered in an answer that never arrived.
    with scene.client.pipeline(transaction=True) as pipeline:
        pipeline.xadd(STREAM, {"n": "lost on the way"})
        pipeline.xreadgroup(GROUP, "c", {STREAM: ">"})
        pipeline.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        pipeline.execute()
    await asyncio.wait_for(running, DEADLINE_SECONDS)
    assert handle.values == ["lost on the way"]
    assert consumer.counts.interruptions >= 1
    assert scene.pending() == {}


async def test_what_was_handled_is_acknowledged_later_and_not_handled_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.add("a", "b")
    consumer, handle = make(scene), Recorder()
    group: Any = consumer._work._group
    acknowledge, attempts = group.acknowledge, iter(range(100))

    async def fail_at_first(entry_ids: list[str]) -> int:
        if next(attempts) < 2:
            raise redis.ConnectionError("cut")
        return int(await acknowledge(entry_ids))

    monkeypatch.setattr(group, "acknowledge", fail_at_first)
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 2)
    assert handle.values == ["a", "b"]
    assert consumer.counts.interruptions == 2


async def test_a_stop_still_acknowledges_what_could_not_be_when_it_was_handled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.add("a")
    consumer, handle = make(scene), Recorder()
    group: Any = consumer._work._group
    acknowledge, attempts = group.acknowledge, iter(range(100))

    async def fail_at_first(entry_ids: list[str]) -> int:
        consumer.stop()
        if next(attempts) < 2:
            raise redis.ConnectionError("cut")
        return int(await acknowledge(entry_ids))

    monkeypatch.setattr(group, "acknowledge", fail_at_first)
    await asyncio.wait_for(consumer.run(handle), DEADLINE_SECONDS)
    assert consumer.counts.acknowledged == 1
    assert scene.pending() == {}


@pytest.mark.parametrize("loss", ["the group", "the stream", "everything"])
async def test_a_group_that_is_lost_under_a_blocked_consumer_is_made_again(
    scene: Scene, loss: str
) -> None:
    scene.add("before")
    consumer, handle = make(scene, block_ms=0), Recorder()
    running = asyncio.ensure_future(
        run_until(consumer, handle, lambda: consumer.counts.acknowledged == 2)
    )
    await until_it_blocks(scene)
    if loss == "the group":
        scene.client.xgroup_destroy(STREAM, GROUP)
    elif loss == "the stream":
        scene.client.delete(STREAM)
    else:
        scene.client.flushall()
    scene.add("after")
    await running
    assert handle.values == ["before", "after"]
    assert consumer.counts.interruptions >= 1


async def test_a_restarted_server_is_found_again(scene: Scene) -> None:
    handle = Recorder()
    with RillwayServer() as server:
        consumer = Consumer(server.url, stream=STREAM, group=GROUP, name="c")
        running = asyncio.ensure_future(run_until(consumer, handle, lambda: bool(handle.entries)))
        with redis.Redis.from_url(server.url) as client:
            while not client.exists(STREAM):
                await asyncio.sleep(0.005)
            await asyncio.to_thread(server.restart)
            client.xadd(STREAM, {"n": "after"})
        await running
        assert handle.values == ["after"]
        assert consumer.counts.interruptions >= 1


async def test_a_block_longer_than_the_sockets_timeout_is_no_lost_connection(
    scene: Scene,
) -> None:
    url = f"{scene.url}?socket_timeout=2"
    consumer, handle = Consumer(url, stream=STREAM, group=GROUP, name="c", block_ms=0), Recorder()
    started = time.monotonic()

    def enough() -> bool:
        if time.monotonic() - started > 2.5 and not scene.client.xlen(STREAM):
            scene.add("late")
        return bool(handle.entries)

    await run_until(consumer, handle, enough)
    assert consumer.counts.interruptions == 0


async def test_what_waiting_does_not_mend_is_raised(scene: Scene) -> None:
    scene.client.set(STREAM, "no stream")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        await make(scene).run(Recorder())
    scene.client.config_set("requirepass", "secret")
    try:
        with pytest.raises(redis.AuthenticationError):
            await make(scene).run(Recorder())
    finally:
        scene.client.execute_command("AUTH", "secret")
        scene.client.config_set("requirepass", "")


async def test_a_stop_does_not_wait_for_a_server_that_is_away() -> None:
    consumer = Consumer("redis://127.0.0.1:1", stream=STREAM, group=GROUP, name="c")
    await run_until(consumer, Recorder(), lambda: consumer.counts.interruptions >= 2)


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"max_deliveries": 3},
        {"dead_letters": DEAD},
        {"max_deliveries": 3, "dead_letters": STREAM},
        {"max_deliveries": 0, "dead_letters": DEAD},
        {"count": 0},
        {"claim_idle_ms": 0},
        {"block_ms": -1},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|belong|cannot"):
        Consumer("redis://", stream=STREAM, group=GROUP, name="c", **settings)


# -- partitions -----------------------------------------------------------------------------------

ORDERS = PartitionedStream(STREAM, partitions=4)
LEASE_MS = 300


def make_one_of_many(scene: Scene, name: str = "c", **settings: Any) -> Consumer:
    settings = {"lease_ms": LEASE_MS, **settings}
    return Consumer(scene.url, stream=ORDERS, group=GROUP, name=name, **settings)


def add_to_partition(scene: Scene, partition: int, *values: object) -> list[str]:
    name = ORDERS.stream(partition)
    return [scene.client.xadd(name, {"n": str(value)}).decode() for value in values]


async def test_a_consumer_of_all_partitions_keeps_the_order_of_each(scene: Scene) -> None:
    for value in range(10):
        for partition in range(4):
            add_to_partition(scene, partition, value)
    consumer, handle = make_one_of_many(scene), Recorder()
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 40)
    for name in ORDERS.streams:
        values = [entry.fields[b"n"] for entry in handle.entries if entry.stream == name]
        assert values == [b"%d" % value for value in range(10)]


async def test_what_a_dead_owner_left_comes_first_and_without_a_wait(scene: Scene) -> None:
    name = ORDERS.stream(2)
    add_to_partition(scene, 2, "left 1", "left 2", "new")
    scene.client.xgroup_create(name, GROUP, "0")
    scene.client.xreadgroup(GROUP, "dead", {name: ">"}, count=2)
    consumer, handle = make_one_of_many(scene), Recorder()
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 3)
    assert handle.values == ["left 1", "left 2", "new"]
    assert [entry.deliveries for entry in handle.entries] == [2, 2, 1]
    assert (consumer.counts.claimed, consumer.counts.new) == (2, 1)


async def test_an_entry_that_another_was_given_meanwhile_is_found(scene: Scene) -> None:
    consumer, handle = make_one_of_many(scene), Recorder()
    name = ORDERS.stream(2)

    def deliver_to_a_stranger(entry: Entry) -> None:
        if entry.fields[b"n"] == b"first":
            add_to_partition(scene, 2, "stray")
            scene.client.xreadgroup(GROUP, "stranger", {name: ">"})

    handle.then = deliver_to_a_stranger
    add_to_partition(scene, 2, "first")
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 2)
    assert handle.values == ["first", "stray"]


async def test_the_next_owner_goes_on_where_one_was_stopped(scene: Scene) -> None:
    add_to_partition(scene, 2, *range(5))
    first, handle = make_one_of_many(scene, "a"), Recorder()
    handle.then = lambda entry: first.stop() if entry.fields[b"n"] == b"1" else None
    await asyncio.wait_for(first.run(handle), DEADLINE_SECONDS)
    handle.then = lambda entry: None
    second = make_one_of_many(scene, "b")
    await run_until(second, handle, lambda: second.counts.acknowledged == 3)
    assert handle.values == ["0", "1", "2", "3", "4"]
    # What the first one had read, and not begun, was not tried.
    assert {entry.deliveries for entry in handle.entries} == {1}


async def test_a_failure_goes_to_the_dead_letters_of_its_partition(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    (first,) = add_to_partition(scene, 2, "broken")
    add_to_partition(scene, 3, "whole")
    consumer, handle = make_one_of_many(scene, max_deliveries=2, claim_idle_ms=IDLE_MS), Recorder()
    handle.then = lambda entry: 1 / 0 if entry.fields[b"n"] == b"broken" else None

    def both_are_settled() -> bool:
        return (consumer.counts.dead_lettered, consumer.counts.acknowledged) == (1, 1)

    await run_until(consumer, handle, both_are_settled)
    ((_, fields),) = scene.client.xrange(ORDERS.dead_letters(2))
    assert fields[b"rillway-id"].decode() == first
    assert fields[b"rillway-stream"] == b"orders:{2}"
    assert f"{first} of orders:{{2}} failed, delivery 1: " in caplog.text


async def test_the_partitions_of_a_dead_consumer_are_taken_after_its_lease(scene: Scene) -> None:
    dead, handle = make_one_of_many(scene, "dead"), Recorder()
    add_to_partition(scene, 2, "first")
    running = asyncio.ensure_future(dead.run(handle))
    while not handle.entries:
        await asyncio.sleep(0.005)
    running.cancel()  # as if it were killed: it gives nothing back
    with pytest.raises(asyncio.CancelledError):
        await running
    assert scene.client.get(ORDERS.owner(2, GROUP)) == b"dead"
    add_to_partition(scene, 2, "second")
    heir = make_one_of_many(scene, "heir")
    await run_until(heir, handle, lambda: heir.counts.new == 1)
    assert heir.partitions == []
    assert handle.values[-1] == "second"


@pytest.mark.parametrize(
    "settings", [{"dead_letters": "d", "max_deliveries": 2}, {"lease_ms": 0}], ids=str
)
def test_settings_of_partitions_that_make_no_sense_are_refused(
    settings: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match=r"dead letters|at least 1"):
        Consumer("redis://h", stream=ORDERS, group=GROUP, name="c", **settings)
