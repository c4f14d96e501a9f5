"""The consumer for handlers that are plain functions."""

from __future__ import annotations

import threading
import time

import pytest

from rillway.consumer import Entry, GiveUp, SyncConsumer
from tests.rillway.consumer.scene import GROUP, STREAM, Scene

pytestmark = pytest.mark.integration


def make(scene: Scene) -> SyncConsumer:
    return SyncConsumer(scene.url, stream=STREAM, group=GROUP, name="c", claim_idle_ms=200)


def test_a_handler_may_block_and_use_the_consumer(scene: Scene) -> None:
    scene.add("first")
    consumer = make(scene)
    seen: list[bytes] = []

    def handle(entry: Entry) -> None:
        seen.append(entry.fields[b"n"])
        if len(seen) == 1:
            time.sleep(0.5)  # longer than entries may be idle: it is renewed meanwhile
            consumer.delay({"n": "second"}, 0.01)
        else:
            consumer.stop()

    consumer.run(handle)
    assert seen == [b"first", b"second"]
    assert consumer.counts.acknowledged == 2
    assert scene.pending() == {}


def test_it_can_be_stopped_from_another_thread_and_before_it_runs(scene: Scene) -> None:
    consumer = make(scene)
    scene.add("only")
    done = threading.Event()
    running = threading.Thread(target=consumer.run, args=(lambda entry: done.set(),))
    running.start()
    assert done.wait(60)
    consumer.stop()
    running.join(60)
    assert not running.is_alive()
    early = make(scene)
    early.stop()
    early.run(lambda entry: None)


def test_entries_can_be_added_while_nothing_runs(scene: Scene) -> None:
    consumer = make(scene)
    consumer.delay({"n": 5}, 0)
    consumer.run(lambda entry: consumer.stop())
    assert consumer.counts.acknowledged == 1


def test_errors_of_handlers_reach_the_caller(scene: Scene) -> None:
    scene.add("only")

    def give_up(entry: Entry) -> None:
        raise GiveUp("the database is away")

    with pytest.raises(GiveUp, match="away"):
        make(scene).run(give_up)
