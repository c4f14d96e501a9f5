"""The memory in use.

Which keys are evicted.
"""

from __future__ import annotations

import pytest

from commands.connection.client_memory import ClientMemory, MemoryUse
from commands.connection.invalidation_table import TrackingTable
from commands.eviction.eviction import POOL_SIZE, Eviction, update_memory_use
from server.inprocess.server import InProcessServer, Word


def test_the_start_the_data_clients_and_the_rest_count() -> None:
    server = InProcessServer()
    memory = server.instance.feature(MemoryUse)
    memory.startup_bytes = 1_000_000
    assert memory.used_bytes() == 1_000_000
    client = server.connect()
    clients_bytes = server.instance.feature(ClientMemory).total_bytes
    assert update_memory_use(server.instance) == 1_000_000 + clients_bytes > 1_004_000
    client.execute("SET", "k", "v" * 10_000)
    assert 1_011_000 < memory.used_bytes() < 1_024_000
    client.execute("EVAL", "return 1", "0")
    before = memory.used_bytes()
    assert update_memory_use(server.instance) > before


@pytest.mark.parametrize(
    ("requests", "least"),
    [
        ([("SUBSCRIBE", *(f"c{i}" for i in range(100)))], 40_000),
        ([("SSUBSCRIBE", *(f"c{i}" for i in range(100)))], 40_000),
        ([("PSUBSCRIBE", *(f"c{i}*" for i in range(100)))], 50_000),
        ([("WATCH", *(f"k{i}" for i in range(100)))], 44_000),
        ([("BLPOP", *(f"k{i}" for i in range(100)), 0)], 40_000),
        ([("CLIENT", "TRACKING", "ON"), ("MGET", *(f"k{i}" for i in range(100)))], 33_000),
        ([("CLIENT", "TRACKING", "ON"), ("GET", "x" * 10_000)], 10_300),
    ],
    ids=["channels", "shard channels", "patterns", "watched", "awaited", "tracked", "a long key"],
)
def test_tables_of_what_clients_name_count(requests: list[tuple[Word, ...]], least: int) -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("HELLO", 3)
    before = update_memory_use(server.instance)
    for words in requests:
        client.execute(*words)
    server.instance.feature(ClientMemory).update(client.state)
    assert least < update_memory_use(server.instance) - before < least * 1.5
    client.disconnect()
    server.instance.feature(TrackingTable).invalidate_all()
    assert update_memory_use(server.instance) < before


def test_the_peak_is_kept() -> None:
    server = InProcessServer()
    memory, client = server.instance.feature(MemoryUse), server.connect()
    client.execute("SET", "k", "v" * 10_000)
    used = memory.used_bytes()
    client.execute("DEL", "k")
    assert memory.used_bytes() < used == memory.peak_bytes


NOW_MS = 1_700_000_000_000
ALL_POLICIES = ["lru", "lfu", "lrm", "random"]


def server_with(keys: int, policy: str, **directives: str) -> InProcessServer:
    """`key:0` was used first; those of even numbers expire, those of greater numbers sooner."""
    server = InProcessServer(NOW_MS, 0, maxmemory_policy=policy, **directives)
    client = server.connect()
    for number in range(keys):
        server.now_ms += 1000
        client.execute("SET", f"key:{number}", "v")
        if number % 2 == 0:
            client.execute("PEXPIRE", f"key:{number}", str(10_000_000 - 5000 * number))
    return server


def evicted(server: InProcessServer, count: int) -> list[bytes]:
    """The keys that go first."""
    eviction = server.instance.feature(Eviction)
    gone: list[bytes] = []
    for _ in range(count):
        before = set(server.instance.databases[0].values)
        assert eviction.evict_one()
        gone += before - set(server.instance.databases[0].values)
    return gone


def test_without_a_policy_nothing_is_evicted() -> None:
    assert not server_with(3, "noeviction").instance.feature(Eviction).evict_one()


@pytest.mark.parametrize("way", ALL_POLICIES)
@pytest.mark.parametrize("scope", ["allkeys", "volatile"])
def test_all_keys_of_the_scope_go_in_the_end_and_no_others(scope: str, way: str) -> None:
    server = server_with(40, f"{scope}-{way}")
    eviction = server.instance.feature(Eviction)
    while eviction.evict_one():
        pass
    left = 0 if scope == "allkeys" else 20
    assert len(server.instance.databases[0]) == left
    assert server.instance.stats.evicted_keys == 40 - left


def test_the_key_that_was_not_used_for_longest_goes_first() -> None:
    server = server_with(30, "allkeys-lru", maxmemory_samples="64")
    client = server.connect()
    client.execute("GET", "key:0")
    client.execute("MGET", "key:2", "key:3")
    assert evicted(server, 3) == [b"key:1", b"key:4", b"key:5"]


def test_with_lrm_reads_do_not_count() -> None:
    server = server_with(30, "allkeys-lrm", maxmemory_samples="64")
    client = server.connect()
    client.execute("GET", "key:0")
    client.execute("APPEND", "key:1", "v")
    assert evicted(server, 2) == [b"key:0", b"key:2"]


def test_the_key_that_is_used_least_goes_first() -> None:
    server = server_with(20, "allkeys-lfu", maxmemory_samples="64", lfu_log_factor="0")
    client = server.connect()
    for number in range(20):
        for _ in range(1 if number == 7 else 3):
            client.execute("GET", f"key:{number}")
    assert evicted(server, 1) == [b"key:7"]


def test_the_key_that_expires_first_goes_first() -> None:
    server = server_with(10, "volatile-ttl")
    server.connect().execute("SELECT", "1")
    other = server.connect()
    other.execute("SELECT", "1")
    other.execute("SET", "soon", "v", "PX", "1000")
    eviction = server.instance.feature(Eviction)
    assert eviction.evict_one()
    assert not server.instance.databases[1].values
    assert evicted(server, 3) == [b"key:8", b"key:6", b"key:4"]


def test_random_keys_come_from_the_databases_in_turn() -> None:
    server = server_with(10, "allkeys-random")
    other = server.connect()
    other.execute("SELECT", "5")
    for number in range(10):
        other.execute("SET", str(number), "v")
    eviction = server.instance.feature(Eviction)
    for _ in range(10):
        eviction.evict_one()
    assert len(server.instance.databases[0]) == len(server.instance.databases[5]) == 5


def test_a_candidate_that_is_used_goes_back() -> None:
    server = server_with(POOL_SIZE, "allkeys-lru", maxmemory_samples="64")
    assert evicted(server, 1) == [b"key:0"]
    server.connect().execute("GET", "key:1")
    assert evicted(server, 1) == [b"key:2"]


def test_an_eviction_is_published_propagated_and_fails_transactions_that_watch() -> None:
    server = server_with(1, "allkeys-lru", appendonly="yes", notify_keyspace_events="Ee")
    client, subscriber = server.connect(), server.connect()
    subscriber.execute("SUBSCRIBE", "__keyevent@0__:evicted")
    client.execute("WATCH", "key:0")
    assert server.instance.feature(Eviction).evict_one()
    server.tick()
    assert subscriber.received().endswith(b"$5\r\nkey:0\r\n")
    client.execute("MULTI")
    client.execute("PING")
    assert client.execute("EXEC") == b"*-1\r\n"
    written = b"".join(server.files.snapshot().values())
    assert b"*2\r\n$3\r\nDEL\r\n$5\r\nkey:0\r\n" in written
    server.connect().execute("CONFIG", "SET", "lazyfree-lazy-eviction", "yes")
    client.execute("SET", "k", "v")
    assert server.instance.feature(Eviction).evict_one()
    server.tick()
    written = b"".join(server.files.snapshot().values())
    assert b"*2\r\n$6\r\nUNLINK\r\n$1\r\nk\r\n" in written
