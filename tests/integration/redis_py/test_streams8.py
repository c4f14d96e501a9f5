"""What Redis 8.2 to 8.10 added to streams, through redis-py's typed methods.

Each program runs four times: sync and asyncio, in both protocols. The asyncio client is
wrapped in one with the interface of the sync client, so that there is one text for both.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
import redis
import redis.asyncio
from redis.exceptions import ResponseError

from tests.integration.redis_py.conftest import entries_of
from tests.support.programs.servers import RunningServer
from tests.support.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
    pytest.mark.parametrize("is_async", [False, True], ids=["sync", "asyncio"]),
]

DEADLINE_SECONDS = 30.0
MAX_DELIVERIES = 2**63 - 1

Connect: TypeAlias = "Callable[[], Any]"


class AsyncClient:
    """redis.asyncio.Redis with methods that wait for their result, on a loop in a thread."""

    def __init__(self, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._client = redis.asyncio.Redis(**options)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *args, **kwargs: self._wait(method(*args, **kwargs))

    def _wait(self, awaitable: Any) -> Any:
        waiting = asyncio.run_coroutine_threadsafe(awaitable, self._loop)
        return waiting.result(DEADLINE_SECONDS)

    def close(self) -> None:
        self._wait(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def connect(server: RunningServer, protocol: int, is_async: bool) -> Iterator[Connect]:
    opened: list[Any] = []

    def open_one() -> Any:
        make: Any = AsyncClient if is_async else redis.Redis
        opened.append(
            make(
                port=server.port,
                protocol=protocol,
                decode_responses=True,
                socket_timeout=DEADLINE_SECONDS,
            )
        )
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()


@pytest.fixture
def client(connect: Connect) -> Any:
    return connect()


def fill(client: Any, *groups: str, entries: int = 4) -> list[str]:
    """A stream s of `entries` entries, all pending for consumer c of each group."""
    ids = [client.xadd("s", {"n": n}, id=f"{n}-1") for n in range(1, entries + 1)]
    for group in groups:
        client.xgroup_create("s", group, id="0")
        assert len(entries_of(client.xreadgroup(group, "c", {"s": ">"}), "s")) == entries
    return ids


def in_background(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Run `work` in a thread; its result comes into the list."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def await_blocked(client: Any, count: int) -> None:
    until(
        lambda: client.info("clients")["blocked_clients"] == count, "too few clients have blocked"
    )


def test_the_server_says_which_redis_it_is(client: Any) -> None:
    info = client.info("server")
    assert info["redis_version"] == "8.10.0"
    assert info["rillway_version"]


def test_entries_are_deleted_with_regard_to_groups(client: Any) -> None:
    fill(client, "one", "two")
    assert client.xack("s", "one", "1-1", "2-1") == 2
    assert client.xdelex("s", "1-1", "9-9", ref_policy="ACKED") == [2, 2]
    assert client.xack("s", "two", "1-1") == 1
    assert client.xdelex("s", "1-1", ref_policy="ACKED") == [1]
    assert client.xdelex("s", "3-1", "1-1", ref_policy="DELREF") == [1, -1]
    assert client.xpending("s", "one")["pending"] == 1
    assert client.xackdel("s", "one", "4-1", "3-1", ref_policy="ACKED") == [2, -1]
    assert client.xackdel("s", "two", "4-1", "2-1") == [1, 1]
    assert client.xlen("s") == 0
    assert client.xackdel("missing", "g", "1-1") == [-1]


def test_trimming_regards_groups(client: Any) -> None:
    fill(client, "g")
    client.xack("s", "g", "2-1", "4-1")
    assert client.xtrim("s", maxlen=1, approximate=False, ref_policy="ACKED") == 2
    assert [entry_id for entry_id, _ in client.xrange("s")] == ["1-1", "3-1"]
    client.xadd("s", {"n": 5}, id="5-1", maxlen=1, approximate=False, ref_policy="DELREF")
    assert client.xpending("s", "g")["pending"] == 0
    assert client.xlen("s") == 1


def test_a_producer_may_send_again(client: Any) -> None:
    first = client.xadd("s", {"a": 1, "b": 2}, idmp=("producer", b"message-1"))
    assert client.xadd("s", {"a": 1, "b": 2}, idmp=("producer", b"message-1")) == first
    automatic = client.xadd("s", {"a": 1, "b": 2}, idmpauto="producer")
    assert client.xadd("s", {"b": 2, "a": 1}, idmpauto="producer") == automatic != first
    info = client.xinfo_stream("s")
    assert (info["length"], info["pids-tracked"], info["iids-tracked"]) == (2, 1, 2)
    assert (info["iids-added"], info["iids-duplicates"]) == (2, 2)
    assert client.xcfgset("s", idmp_duration=300, idmp_maxsize=1000) in (True, "OK")
    info = client.xinfo_stream("s", full=True)
    assert (info["idmp-duration"], info["idmp-maxsize"], info["iids-tracked"]) == (300, 1000, 0)
    assert client.xadd("s", {"a": 1, "b": 2}, idmp=("producer", b"message-1")) != first
    with pytest.raises(ResponseError, match="no such key"):
        client.xcfgset("missing", idmp_duration=5)
    with pytest.raises(ResponseError, match="IDMP-MAXSIZE must be between 1 and 10000 entries"):
        client.xcfgset("s", idmp_maxsize=100_000)


def test_old_ids_of_producers_are_forgotten(client: Any) -> None:
    client.xadd("s", {"a": 1}, idmp=("producer", b"1"))
    client.xcfgset("s", idmp_duration=1)
    client.xadd("s", {"a": 1}, idmp=("producer", b"1"))
    until(lambda: not client.xinfo_stream("s")["iids-tracked"], "it is remembered for ever")
    assert client.xinfo_stream("s")["pids-tracked"] == 0


def test_entries_are_given_back_and_claimed(client: Any) -> None:
    fill(client, "g")
    assert client.xnack("s", "g", "FAIL", "3-1") == 1
    assert client.xnack("s", "g", "FATAL", "2-1", "9-9") == 1
    assert client.xnack("s", "g", "SILENT", "4-1", retrycount=7) == 1
    client.xack("s", "g", "1-1")
    assert client.xnack("s", "g", "FAIL", "1-1", "9-9", force=True) == 1
    rows = client.xpending_range("s", "g", "-", "+", 10)
    assert [(r["consumer"], r["time_since_delivered"]) for r in rows] == [("", -1)] * 4
    assert [r["times_delivered"] for r in rows] == [0, MAX_DELIVERIES, 1, 7]
    assert client.xinfo_stream("s", full=True)["groups"][0]["nacked-count"] == 4
    reply = client.xreadgroup("g", "d", {"s": ">"}, count=3, claim_min_idle_time=10_000_000)
    entries = entries_of(reply, "s")
    assert [entry[0] for entry in entries] == ["3-1", "2-1", "4-1"]
    assert entries[0][1] == {"n": "3"}
    assert [entry[3] for entry in entries] == [1, MAX_DELIVERIES, 7]
    assert all(isinstance(entry[2], int) for entry in entries)
    with pytest.raises(ResponseError, match="NOGROUP"):
        client.xnack("s", "missing", "FAIL", "1-1")


def test_idle_entries_come_before_new_ones(client: Any) -> None:
    fill(client, "g", entries=2)
    client.xadd("s", {"n": 3}, id="3-1")
    time.sleep(0.03)
    reply = client.xreadgroup("g", "d", {"s": ">"}, claim_min_idle_time=20)
    first, second, new = entries_of(reply, "s")
    assert (first[0], second[0], first[3], second[3]) == ("1-1", "2-1", 1, 1)
    assert first[2] >= 20 and second[2] >= 20
    assert new == ("3-1", {"n": "3"}, 0, 0)
    assert {row["consumer"] for row in client.xpending_range("s", "g", "-", "+", 10)} == {"d"}


def test_a_waiter_gets_an_entry_once_it_is_idle_for_long_enough(
    client: Any, connect: Connect
) -> None:
    waiter, before = connect(), time.monotonic()
    fill(client, "g", entries=1)
    thread, results = in_background(
        lambda: waiter.xreadgroup("g", "d", {"s": ">"}, block=20_000, claim_min_idle_time=300)
    )
    thread.join(DEADLINE_SECONDS)
    assert 0.299 < time.monotonic() - before < 15
    ((entry_id, fields, idle_ms, deliveries),) = entries_of(results[0], "s")
    assert (entry_id, fields, deliveries) == ("1-1", {"n": "1"}, 1)
    assert 300 <= idle_ms < 15_000


def test_a_waiter_gets_a_released_entry(client: Any, connect: Connect) -> None:
    fill(client, "g", entries=1)
    waiter = connect()
    thread, results = in_background(
        lambda: waiter.xreadgroup("g", "d", {"s": ">"}, block=0, claim_min_idle_time=10_000_000)
    )
    await_blocked(client, 1)
    client.xnack("s", "g", "FAIL", "1-1")
    thread.join(DEADLINE_SECONDS)
    assert [entry[0] for entry in entries_of(results[0], "s")] == ["1-1"]


def test_replies_are_capped_over_all_streams(client: Any) -> None:
    for key in ("a", "b"):
        for n in range(1, 4):
            client.xadd(key, {"n": n}, id=f"{n}-1")
        client.xgroup_create(key, "g", id="0")
    reply = client.xread({"a": 0, "b": 0}, max_count=4)
    assert (len(entries_of(reply, "a")), len(entries_of(reply, "b"))) == (3, 1)
    reply = client.xread({"a": 0, "b": 0}, count=2, max_count=2)
    assert (len(entries_of(reply, "a")), len(entries_of(reply, "b"))) == (2, 0)
    assert len(entries_of(client.xread({"a": 0, "b": 0}, max_size=1), "a")) == 1
    reply = client.xreadgroup("g", "c", {"a": ">", "b": ">"}, max_count=4)
    assert (len(entries_of(reply, "a")), len(entries_of(reply, "b"))) == (3, 1)
    reply = client.xreadgroup("g", "c", {"a": "0", "b": "0"}, max_size=1)
    assert (len(entries_of(reply, "a")), len(entries_of(reply, "b"))) == (1, 0)
    reply = client.xreadgroup("g", "c", {"a": ">", "b": ">"}, max_count=2, claim_min_idle_time=0)
    assert (len(entries_of(reply, "a")), len(entries_of(reply, "b"))) == (2, 0)
    with pytest.raises(ResponseError, match="MAXCOUNT must be greater than or equal to COUNT"):
        client.execute_command("XREAD", "COUNT", 3, "MAXCOUNT", 2, "STREAMS", "a", "0")
