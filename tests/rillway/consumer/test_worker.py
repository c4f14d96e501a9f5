"""What handlers decide about their entries, and what consumers add later, against both servers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rillway.consumer import Entry
from rillway.consumer.delays import member
from tests.rillway.consumer.scene import DEAD, GROUP, STREAM, Scene
from tests.rillway.consumer.test_consumer import Recorder, make, run_until

pytestmark = pytest.mark.integration


async def test_a_handler_may_put_an_entry_off(scene: Scene) -> None:
    scene.add("later", "now")
    handle = Recorder()

    def put_off_once(entry: Entry) -> None:
        if entry.fields[b"n"] == b"later" and handle.values.count("later") == 1:
            entry.retry(0.05)

    handle.then = put_off_once
    consumer = make(scene)
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 2)
    assert handle.values == ["later", "now", "later"]
    assert consumer.counts.postponed == 1
    assert scene.pending() == {}


async def test_a_handler_may_reject_an_entry(scene: Scene) -> None:
    scene.add("bad", "good")
    handle = Recorder()

    def reject(entry: Entry) -> None:
        if entry.fields[b"n"] == b"bad":
            entry.reject("no such customer")

    handle.then = reject
    consumer = make(scene, max_deliveries=5, dead_letters=DEAD)
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 1)
    ((_, letter),) = scene.client.xrange(DEAD)
    assert letter[b"rillway-cause"] == b"fatal"
    assert letter[b"rillway-error"] == b"no such customer"
    assert scene.pending() == {}


async def test_what_is_rejected_without_dead_letters_stays(scene: Scene) -> None:
    scene.add("bad")
    handle = Recorder()
    handle.then = lambda entry: entry.reject("no such customer")
    consumer = make(scene)
    await run_until(consumer, handle, lambda: consumer.counts.failed == 1)
    assert len(scene.pending()) == 1


async def test_a_consumer_adds_entries_later(scene: Scene) -> None:
    consumer, handle = make(scene), Recorder()
    await consumer.delay({"n": "later"}, 0.05)
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 1)
    assert handle.values == ["later"]


@pytest.mark.parametrize(
    ("fields", "seconds", "key"), [({}, 1, None), ({"n": 1}, -1, None), ({"n": 1}, 1, "a")]
)
async def test_a_delay_that_makes_no_sense_is_refused(
    scene: Scene, fields: dict[str, Any], seconds: float, key: str | None
) -> None:
    with pytest.raises(ValueError, match=r"expected|a stream in partitions"):
        await make(scene).delay(fields, seconds, key=key)


async def test_a_consumer_that_is_never_idle_finds_what_others_have_delayed(
    redis_scene: Scene,
) -> None:
    scene = redis_scene
    consumer, handle = make(scene, count=1), Recorder()

    def add_more(entry: Entry) -> None:
        if len(handle.entries) == 1:
            scene.client.zadd(f"{STREAM}:later", {member(((b"n", b"late"),)): 1})
        if entry.fields[b"n"] != b"late":
            scene.add("more")

    handle.then = add_more
    scene.add("first")
    await run_until(consumer, handle, lambda: "late" in handle.values)
    assert handle.values[:2] == ["first", "more"]


# -- where the server delivers again --------------------------------------------------------------


def set_policy(scene: Scene, *words: object) -> None:
    scene.create_group()
    scene.client.execute_command("XGROUP CONFIG", STREAM, GROUP, *words)


async def test_a_failed_entry_comes_again_by_the_groups_policy_and_then_dies(
    rillway_scene: Scene,
) -> None:
    scene = rillway_scene
    set_policy(scene, "ACK-WAIT", 60_000, "MAX-DELIVERIES", 3, "DEAD-LETTER", DEAD)
    scene.add("poison", "good")
    handle = Recorder()

    def fail(entry: Entry) -> None:
        if entry.fields[b"n"] == b"poison":
            raise ValueError("cannot be read")

    handle.then = fail
    consumer = make(scene)
    await run_until(consumer, handle, lambda: consumer.counts.dead_lettered == 1)
    poison = [entry for entry in handle.entries if entry.fields[b"n"] == b"poison"]
    assert [entry.deliveries for entry in poison] == [1, 2, 3]
    ((_, letter),) = scene.client.xrange(DEAD)
    assert letter[b"rillway-cause"] == b"failed"
    assert letter[b"rillway-error"] == b"ValueError: cannot be read"
    assert letter[b"rillway-deliveries"] == b"3"


async def test_a_long_handler_is_not_overtaken_by_the_deadline(rillway_scene: Scene) -> None:
    set_policy(rillway_scene, "ACK-WAIT", 1000)
    rillway_scene.add("slow")
    handle = Recorder()
    handle.then = lambda entry: asyncio.sleep(2.2)
    consumer = make(rillway_scene)
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 1)
    assert handle.values == ["slow"]
    assert rillway_scene.pending() == {}


async def test_what_is_put_off_keeps_its_id_and_its_count(rillway_scene: Scene) -> None:
    set_policy(rillway_scene, "ACK-WAIT", 60_000)
    (entry_id,) = rillway_scene.add("later")
    handle = Recorder()

    def put_off_once(entry: Entry) -> None:
        if entry.deliveries == 1:
            entry.retry(0.05, "busy")

    handle.then = put_off_once
    consumer = make(rillway_scene)
    await run_until(consumer, handle, lambda: consumer.counts.acknowledged == 1)
    assert [(entry.id, entry.deliveries) for entry in handle.entries] == [
        (entry_id, 1),
        (entry_id, 2),
    ]


async def test_what_is_rejected_is_dead_at_once(rillway_scene: Scene) -> None:
    set_policy(rillway_scene, "ACK-WAIT", 60_000, "MAX-DELIVERIES", 9, "DEAD-LETTER", DEAD)
    rillway_scene.add("bad")
    handle = Recorder()
    handle.then = lambda entry: entry.reject("no such customer")
    consumer = make(rillway_scene)
    await run_until(consumer, handle, lambda: consumer.counts.dead_lettered == 1)
    ((_, letter),) = rillway_scene.client.xrange(DEAD)
    assert letter[b"rillway-cause"] == b"fatal"
    assert letter[b"rillway-error"] == b"no such customer"


async def test_a_stop_gives_back_what_was_not_begun(rillway_scene: Scene) -> None:
    set_policy(rillway_scene, "ACK-WAIT", 60_000)
    rillway_scene.add("first", "second")
    handle = Recorder()
    consumer = make(rillway_scene)
    handle.then = lambda entry: consumer.stop()
    await run_until(consumer, handle, lambda: bool(handle.entries))
    assert [owner for owner, _ in rillway_scene.pending().values()] == [""]
    heir, again = make(rillway_scene, "d"), Recorder()
    await run_until(heir, again, lambda: heir.counts.acknowledged == 1)
    assert again.values == ["second"]
