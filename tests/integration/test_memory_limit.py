"""maxmemory, on a running server: eviction, files and replicas."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from tests.conftest import StartRillway
from tests.support.waiting import until

pytestmark = pytest.mark.integration

KEYS = 40_000
VALUE = b"x" * 400


def fill(client: redis.Redis, hot: list[str]) -> None:
    """Set keys; those of `hot` are read all the time."""
    for start in range(0, KEYS, 400):
        with client.pipeline(transaction=False) as pipeline:
            for number in range(start, start + 400):
                pipeline.set(f"key:{number}", VALUE)
            for key in hot:
                pipeline.get(key)
            pipeline.execute()


def used(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


@pytest.mark.parametrize(
    "policy", [pytest.param("allkeys-lru", marks=pytest.mark.thorough), "allkeys-lfu"]
)
def test_keys_that_are_read_all_the_time_stay(run_rillway: StartRillway, policy: str) -> None:
    server = run_rillway("--maxmemory-policy", policy)
    with redis.Redis(port=server.port) as client:
        limit = used(client) + 6 * 1024**2
        client.config_set("maxmemory", limit)
        hot = [f"hot:{number}" for number in range(100)]
        for key in hot:
            client.set(key, VALUE)
        fill(client, hot)
        assert sum(client.exists(key) for key in hot) >= 95
        assert used(client) < 1.02 * limit
        assert client.info("stats")["evicted_keys"] > KEYS // 2
        assert client.dbsize() > 6000  # it stops as soon as there is room


def test_a_lower_limit_takes_effect_by_itself(run_rillway: StartRillway) -> None:
    server = run_rillway("--maxmemory-policy", "allkeys-random")
    with redis.Redis(port=server.port) as client:
        empty = used(client)
        fill(client, [])
        limit = (empty + used(client)) // 2
        client.config_set("maxmemory", limit)
        until(lambda: used(client) <= limit)
        assert client.info("stats")["current_eviction_exceeded_time"] == 0
        assert KEYS // 4 < client.dbsize() < KEYS * 3 // 4


def test_a_file_and_a_replica_hold_what_is_left(run_rillway: StartRillway, tmp_path: Path) -> None:
    directives = "--dir", str(tmp_path), "--appendonly", "yes"
    primary = run_rillway("--maxmemory-policy", "allkeys-lru", *directives)
    replica = run_rillway("--replicaof", "127.0.0.1", str(primary.port))
    with redis.Redis(port=primary.port) as client, redis.Redis(port=replica.port) as copy:
        until(lambda: copy.info("replication")["master_link_status"] == "up")
        client.config_set("maxmemory", used(client) + 4 * 1024**2)
        copy.config_set("maxmemory", "1mb", "maxmemory-policy", "allkeys-random")
        fill(client, [])
        client.config_set("maxmemory", 0)
        client.wait(1, 10_000)
        left = set(client.keys())
        assert 1000 < len(left) < KEYS // 2
        assert set(copy.keys()) == left
    primary.stop()
    with redis.Redis(port=run_rillway(*directives).port) as client:
        assert set(client.keys()) == left


def test_a_snapshot_keeps_how_keys_were_used(run_rillway: StartRillway) -> None:
    server = run_rillway("--maxmemory-policy", "allkeys-lfu", "--enable-debug-command", "yes")
    with redis.Redis(port=server.port) as client:
        client.set("k", "v")
        for _ in range(10):
            client.get("k")
        frequency = client.object("freq", "k")
        assert frequency > 5
        client.execute_command("DEBUG", "RELOAD")
        assert client.object("freq", "k") == frequency
        client.config_set("maxmemory-policy", "allkeys-lru")
        payload = client.dump("k")
        client.restore("old", 0, payload, idletime=5000)
        client.execute_command("DEBUG", "RELOAD")
        assert client.object("idletime", "old") >= 5000
        assert client.object("idletime", "k") < 100
