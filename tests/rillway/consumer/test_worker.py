"""What handlers decide about their entries, and what consumers add later, against both servers."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.consumer import Entry
from tests.rillway.consumer.scene import DEAD, Scene
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
