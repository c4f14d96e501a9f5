"""Programs that read streams by a group, under a policy of which they know nothing.

`rillway policy` sets it beside them. Their own reapers do not act: their idle times are minutes. So
what a killed worker has left, or a handler did not acknowledge, comes again from the server alone;
and after the last delivery it is a dead letter, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import redis

from rillway.net.polling import poll
from rillway.pipeline.policy.command import main as policy
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration

WAIT_SECONDS = 60
MAX_DELIVERIES = 3


class Queue:
    """A stream and a group under a policy, beside a program that reads them."""

    def __init__(self, url: str, stream: str, group: str) -> None:
        self.client = redis.Redis.from_url(url)
        self.stream, self.group, self.dead = stream, group, f"{stream}:dead"
        with suppress(redis.ResponseError):  # the program has created it
            self.client.xgroup_create(stream, group, "0", mkstream=True)
        where = ["--url", url, "--stream", stream, "--group", group]
        times = ["--ack-wait", "300ms", "--backoff", "10ms"]
        limit = ["--max-deliveries", str(MAX_DELIVERIES), "--dead-letter", self.dead]
        assert policy([*where, *times, *limit]) == 0

    def kill_a_worker(self, deliveries: int = 1) -> None:
        """Do what workers do that are killed while they have an entry, one after the other."""
        for number in range(deliveries):
            name = f"killed-{number}"
            for _ in range(100):
                if self.client.xreadgroup(self.group, name, {self.stream: ">"}, 1, block=1_000):
                    break

    @property
    def pending(self) -> int:
        return int(self.client.xpending(self.stream, self.group)["pending"])

    def has_one_letter(self, word: str) -> None:
        """Wait until the entry with this word is a dead letter. Raises AssertionError."""
        assert poll(lambda: self.letters_with(word) and not self.pending, WAIT_SECONDS)
        [letter] = self.letters_with(word)
        assert letter[b"rillway-cause"] == b"deadline"
        assert letter[b"rillway-deliveries"] == b"%d" % MAX_DELIVERIES

    def letters_with(self, word: str) -> list[dict[bytes, bytes]]:
        letters: Any = self.client.xrange(self.dead)
        return [
            fields
            for _, fields in letters
            if any(word.encode() in value for value in fields.values())
        ]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


async def in_thread(call: Callable[..., object], *arguments: object) -> None:
    await asyncio.to_thread(call, *arguments)


def test_taskiq(url: str) -> None:
    from taskiq.api import run_receiver_task
    from taskiq_redis import RedisStreamBroker

    async def main() -> None:
        broker = RedisStreamBroker(url, queue_name="s", consumer_group_name="g", xread_block=50)
        done: list[int] = []
        begun: list[int] = []

        @broker.task(task_name="note")
        async def note(n: int) -> None:
            done.append(n)

        @broker.task(task_name="hang")
        async def hang(n: int) -> None:
            begun.append(n)
            await asyncio.Event().wait()

        await broker.startup()
        queue = Queue(url, "s", "g")
        await note.kiq(1)
        await in_thread(queue.kill_a_worker)
        receiver = asyncio.create_task(run_receiver_task(broker))
        await until(lambda: done and not queue.pending)
        await hang.kiq(2)
        await in_thread(queue.has_one_letter, "hang")
        receiver.cancel()
        await asyncio.gather(receiver, return_exceptions=True)
        await broker.shutdown()
        assert set(done) == {1}
        assert 0 < len(begun) <= MAX_DELIVERIES

    asyncio.run(main())


def test_streaq(url: str) -> None:
    import anyio
    from streaq import Worker

    worker = Worker(redis_url=url, handle_signals=False)
    done: list[int] = []

    @worker.task
    async def note(n: int) -> None:
        done.append(n)

    async def main() -> None:
        queue = Queue(url, "streaq:default:queues:normal", "workers")
        async with worker:
            poison = await note.enqueue(1)
        await in_thread(queue.kill_a_worker, MAX_DELIVERIES)
        await in_thread(queue.has_one_letter, poison.id)
        async with worker:
            lost = await note.enqueue(2)
        await in_thread(queue.kill_a_worker)
        async with anyio.create_task_group() as group:
            await group.start(worker.run_async)
            assert (await lost.result(WAIT_SECONDS)).success
            await until(lambda: not queue.pending)
            group.cancel_scope.cancel()
        assert set(done) == {2}

    anyio.run(main)


def test_pydocket(url: str) -> None:
    from docket import Docket, Worker

    async def main() -> None:
        done: list[int] = []

        async def note(n: int) -> None:
            done.append(n)

        async with Docket(name="tests", url=url) as docket:
            queue = Queue(url, docket.stream_key, docket.worker_group_name)
            await docket.add(note)(1)
            await in_thread(queue.kill_a_worker)
            async with Worker(docket, minimum_check_interval=timedelta(milliseconds=5)) as worker:
                await worker.run_until_finished()
            assert set(done) == {1}
            await docket.add(note, key="poison")(2)
            await in_thread(queue.kill_a_worker, MAX_DELIVERIES)
            async with Worker(docket, minimum_check_interval=timedelta(milliseconds=5)) as worker:
                running = asyncio.create_task(worker.run_forever())
                await in_thread(queue.has_one_letter, "poison")
                await docket.add(note)(3)
                await until(lambda: 3 in done and not queue.pending)
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
        assert set(done) == {1, 3}

    asyncio.run(main())


def test_walrus(server: RunningServer, url: str) -> None:
    from walrus import Database

    queue = Queue(url, "s", "g")
    group = Database(host="127.0.0.1", port=server.port).consumer_group("g", ["s"], "walrus")
    group.s.add({"n": "1"})
    queue.kill_a_worker()
    [(entry_id, fields)] = poll(lambda: group.s.read(1, 50), WAIT_SECONDS)
    assert fields == {b"n": b"1"}
    assert group.s.ack(entry_id) == 1
    group.s.add({"n": "poison"})
    for _ in range(MAX_DELIVERIES):  # it reads, and does not acknowledge
        [(_, fields)] = poll(lambda: group.s.read(1, 50), WAIT_SECONDS)
        assert fields == {b"n": b"poison"}
    queue.has_one_letter("poison")
    assert not group.s.read(1, 50)


def test_faststream(url: str) -> None:
    from faststream import AckPolicy
    from faststream.redis import RedisBroker, StreamSub

    async def main() -> None:
        broker = RedisBroker(url)
        sub = StreamSub("s", group="g", consumer="anna", polling_interval=50)
        seen: list[str] = []

        @broker.subscriber(stream=sub, ack_policy=AckPolicy.NACK_ON_ERROR)
        async def note(body: str) -> None:
            seen.append(body)
            if body == "poison" or (body == "flaky" and seen.count(body) == 1):
                raise ValueError(body)

        queue = Queue(url, "s", "g")
        async with broker:
            await broker.publish("lost", stream="s")
            await in_thread(queue.kill_a_worker)
            await broker.start()
            await until(lambda: seen and not queue.pending)
            await broker.publish("flaky", stream="s")
            await until(lambda: seen.count("flaky") > 1 and not queue.pending)
            await broker.publish("poison", stream="s")
            await in_thread(queue.has_one_letter, "poison")
            assert 0 < seen.count("poison") <= MAX_DELIVERIES

    asyncio.run(main())


def test_redis_streams(server: RunningServer, url: str) -> None:
    from redis_streams.consumer import Consumer

    queue = Queue(url, "s", "g")
    client = redis.Redis(port=server.port, decode_responses=True)
    consumer = Consumer(client, "s", "g", "anna", 1, max_wait_time_ms=50, poll_time_ms=50)
    client.xadd("s", {"n": "1"})
    queue.kill_a_worker()
    [item] = poll(consumer.get_items, WAIT_SECONDS)
    assert item.content == {"n": "1"}
    consumer.remove_item_from_consumer_group(item.msgid)
    client.xadd("s", {"n": "poison"})
    # It reads what it has not acknowledged from its history, too, which is no delivery meanwhile.
    assert poll(lambda: consumer.get_items() is None or queue.letters_with("poison"), WAIT_SECONDS)
    queue.has_one_letter("poison")
    assert consumer.get_items() == []
