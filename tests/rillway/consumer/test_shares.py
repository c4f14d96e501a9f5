"""Which partitions a consumer takes, keeps and gives back. Without sockets, on a manual clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis

from rillway.client.partitioned import PartitionedStream
from rillway.consumer import Entry, GiveUp, shares
from rillway.consumer.shares import HOLD, PRESENT, RELEASE, Shares

STREAM = PartitionedStream("orders", partitions=6)
LEASE_MS = 1_000


class Store:
    """Stands for the nodes of all consumers: leases and who is alive, until a time."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.keys: dict[str, tuple[str, int]] = {}
        self.alive: dict[str, int] = {}
        self.down: set[str] = set()
        self.silent: set[str] = set()

    async def refresh(self) -> None:
        if self.silent:
            await asyncio.Event().wait()

    async def execute(self, key: str, command: str, *words: Any) -> Any:
        if key in self.silent:
            await asyncio.Event().wait()
        if key in self.down:
            raise redis.ConnectionError("down")
        if command == "ZREM":
            return self.alive.pop(words[1])
        if command == "GET":
            owner = self._owner(key)
            return owner.encode() if owner else None
        script, _, _, name, *rest = words
        scripts: dict[str, Any] = {
            PRESENT: self._present,
            HOLD: self._hold,
            RELEASE: self._release,
        }
        return scripts[script](key, name, *rest)

    def _present(self, key: str, name: str, for_ms: int) -> int:
        assert key == "orders:consumers:billing"
        self.alive[name] = self.now_ms + for_ms
        self.alive = {name: until for name, until in self.alive.items() if until > self.now_ms}
        return len(self.alive)

    def _hold(self, key: str, name: str, for_ms: int) -> int:
        if self._owner(key) not in (None, name):
            return 0
        self.keys[key] = name, self.now_ms + for_ms
        return 1

    def _release(self, key: str, name: str) -> int:
        return int(self._owner(key) == name and bool(self.keys.pop(key)))

    def _owner(self, key: str) -> str | None:
        name, until_ms = self.keys.get(key, ("", 0))
        return name if until_ms > self.now_ms else None


class FakeWorker:
    """Runs until it is stopped, or ends by an error."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stop(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    async def run(self, handle: Any) -> None:
        await self.ended


class Member:
    """A consumer, whose rounds the test makes."""

    def __init__(self, store: Store, name: str) -> None:
        self.workers: dict[int, FakeWorker] = {}
        self.shares = Shares(
            store,  # type: ignore[arg-type]
            STREAM,
            group="billing",
            name=name,
            lease_ms=LEASE_MS,
            make_worker=self._make,  # type: ignore[arg-type]
        )

    def _make(self, partition: int) -> FakeWorker:
        self.workers[partition] = FakeWorker()
        return self.workers[partition]

    async def round(self) -> list[int]:
        """Takes and gives back; returns what it has."""
        await self.shares._renew()
        await self.shares._balance(nothing)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await self.shares._collect()
        return self.shares.partitions

    async def end(self) -> None:
        self.shares.stop()
        await self.shares.run(nothing)


async def nothing(entry: Entry) -> None:
    raise AssertionError("no worker is real here")


@pytest.fixture
def store() -> Store:
    return Store()


async def test_one_consumer_has_all_partitions(store: Store) -> None:
    assert await Member(store, "a").round() == [0, 1, 2, 3, 4, 5]
    assert store.keys["orders:owner:billing:{3}"] == ("a", LEASE_MS)


async def test_a_second_consumer_gets_its_share_when_the_first_has_given_it_back(
    store: Store,
) -> None:
    a, b = Member(store, "a"), Member(store, "b")
    await a.round()
    assert await b.round() == []
    assert await a.round() == [0, 1, 2]
    assert await b.round() == [3, 4, 5]


async def test_shares_that_cannot_be_equal_leave_no_partition_out(store: Store) -> None:
    members = [Member(store, name) for name in "abcd"]
    for _ in range(3):
        held = [await member.round() for member in members]
    assert sorted(partition for share in held for partition in share) == [0, 1, 2, 3, 4, 5]
    assert max(map(len, held)) == 2


async def test_what_a_consumer_gives_back_when_it_ends_others_take(store: Store) -> None:
    a, b = Member(store, "a"), Member(store, "b")
    for member in (a, b, a, b):
        await member.round()
    await b.end()
    assert await a.round() == [0, 1, 2, 3, 4, 5]


async def test_a_dead_consumer_loses_its_partitions_with_its_lease(store: Store) -> None:
    a, b = Member(store, "a"), Member(store, "b")
    for member in (a, b, a, b):
        await member.round()
    store.now_ms = LEASE_MS - 1
    assert await a.round() == [0, 1, 2]
    store.now_ms = LEASE_MS
    assert await a.round() == [0, 1, 2, 3, 4, 5]
    assert await b.round() == []  # it stood still, and lets go


async def test_a_node_that_is_down_keeps_no_one_from_the_other_partitions(store: Store) -> None:
    store.down = {STREAM.owner(2, "billing")}
    a = Member(store, "a")
    assert await a.round() == [0, 1, 3, 4, 5]
    store.down.clear()
    assert await a.round() == [0, 1, 2, 3, 4, 5]


async def test_a_node_that_does_not_answer_delays_no_renewal(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = Member(store, "a")
    await a.round()
    store.silent = {STREAM.owner(2, "billing")}
    store.now_ms = LEASE_MS - 1
    monkeypatch.setattr(shares, "PATIENCE", 0.001)
    running = asyncio.ensure_future(a.shares.run(nothing))
    while store.keys[STREAM.owner(3, "billing")] != ("a", 2 * LEASE_MS - 1):
        await asyncio.sleep(0)
    a.shares.stop()
    await asyncio.wait_for(running, LEASE_MS / 1000)


async def test_a_lease_that_cannot_be_renewed_is_given_up_when_it_is_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = Member(store, "a")
    await a.round()
    store.down = {STREAM.owner(2, "billing")}
    assert await a.round() == [0, 1, 2, 3, 4, 5]
    a.shares._renewed[2] -= LEASE_MS / 1000 + 0.001
    assert await a.round() == [0, 1, 3, 4, 5]


async def test_a_worker_that_lost_its_connection_at_the_end_is_replaced(store: Store) -> None:
    a = Member(store, "a")
    await a.round()
    first = a.workers[1]
    first.ended.set_exception(redis.ConnectionError("lost"))
    assert await a.round() == [0, 2, 3, 4, 5]
    assert await a.round() == [0, 1, 2, 3, 4, 5]
    assert a.workers[1] is not first


async def test_what_a_worker_raises_ends_the_consumer(store: Store) -> None:
    a = Member(store, "a")
    await a.round()
    a.workers[1].ended.set_exception(GiveUp("no database"))
    with pytest.raises(GiveUp, match="no database"):
        await a.shares.run(nothing)
    assert all(worker.ended.done() for worker in a.workers.values())
