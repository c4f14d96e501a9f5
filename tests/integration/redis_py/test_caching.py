"""redis-py's client-side caching, and tracking as other clients use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from redis.cache import CacheConfig

from tests.integration.redis_py.conftest import Client
from tests.support.programs.servers import RunningServer
from tests.support.waiting import until

pytestmark = pytest.mark.integration


@pytest.fixture
def cached(server: RunningServer) -> Iterator[Client]:
    """A client with a cache."""
    with redis.Redis(
        port=server.port, protocol=3, decode_responses=True, cache_config=CacheConfig()
    ) as client:
        yield client


@pytest.fixture
def other(server: RunningServer) -> Iterator[Client]:
    with redis.Redis(port=server.port, decode_responses=True) as client:
        yield client


def commands_processed(client: Client, name: str) -> int:
    stats = client.info("commandstats").get(f"cmdstat_{name}", {"calls": 0})
    return int(stats["calls"])


def test_a_second_read_comes_from_the_cache(cached: Client, other: Client) -> None:
    other.set("k", "1")
    assert cached.get("k") == "1"
    asked = commands_processed(other, "get")
    assert [cached.get("k") for _ in range(10)] == ["1"] * 10
    assert commands_processed(other, "get") == asked
    cache = cached.get_cache()
    assert cache is not None
    assert cache.size == 1


def test_a_change_by_another_client_reaches_the_cache(cached: Client, other: Client) -> None:
    for number in range(20):
        other.set("k", number)
        assert cached.get("k") == str(number)
        assert cached.get("k") == str(number)


def test_ones_own_change_reaches_the_cache(cached: Client) -> None:
    for number in range(20):
        cached.set("k", number)
        assert cached.get("k") == str(number)


def test_reads_of_streams_are_cached_and_invalidated(cached: Client, other: Client) -> None:
    for number in range(1, 10):
        other.xadd("s", {"n": number}, id=f"{number}-0")
        assert cached.xlen("s") == number
        assert cached.xrange("s")[-1] == (f"{number}-0", {"n": str(number)})
        assert cached.xlen("s") == number
    other.xdel("s", "1-0")
    assert cached.xlen("s") == 8
    other.xtrim("s", maxlen=1, approximate=False)
    assert [entry_id for entry_id, _ in cached.xrange("s")] == ["9-0"]
    other.delete("s")
    assert cached.xlen("s") == 0


def test_expiry_and_flushing_reach_the_cache(cached: Client, other: Client) -> None:
    other.set("k", "1", px=1_000)
    assert cached.get("k") == "1"
    until(lambda: cached.get("k") is None, "the cache keeps what has expired")
    other.set("j", "1")
    assert cached.get("j") == "1"
    other.flushall()
    assert cached.get("j") is None


# -- the modes that redis-py does not use, over plain sockets ------------------------------------
