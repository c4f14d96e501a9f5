"""The memory limit."""

from __future__ import annotations

import pytest

from commands.connection.client_memory import MemoryUse
from commands.core.gates import GATE_OUT_OF_MEMORY
from server.inprocess.server import InProcessClient, InProcessServer
from server.requests.admission import UNLIMITED_US, tenacity_us

OOM = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
LIMIT = 200_000
NOW_MS = 1_700_000_000_000


def server_with(policy: str = "noeviction", **directives: str) -> InProcessServer:
    limits = {"maxmemory": str(LIMIT), "maxmemory_policy": policy}
    return InProcessServer(NOW_MS, 0, **limits, **directives)


def fill(client: InProcessClient, keys: int = 400) -> list[bytes]:
    return [client.execute("SET", f"key:{number}", "v" * 1000) for number in range(keys)]


@pytest.mark.parametrize(
    ("tenacity", "us"), [(0, 0), (1, 50), (10, 500), (11, 575), (99, 126_400_000), (100, None)]
)
def test_tenacity_grows_exponentially_up_to_no_limit(tenacity: int, us: int | None) -> None:
    found = tenacity_us(tenacity)
    assert found == UNLIMITED_US if us is None else found == pytest.approx(us, rel=0.01)


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random"])
def test_keys_are_evicted_until_there_is_room_and_no_more(policy: str) -> None:
    server = server_with(policy, maxmemory_eviction_tenacity="100")
    client = server.connect()
    assert set(fill(client)) == {b"+OK\r\n"}
    used = server.instance.feature(MemoryUse).used_bytes()
    assert 0.9 * LIMIT < used < 1.02 * LIMIT
    assert server.instance.stats.evicted_keys > 100
    assert not server.instance.stats.exceeded_since_ms or used > LIMIT


def test_without_a_policy_what_may_grow_is_refused_and_all_else_runs() -> None:
    server = server_with()
    client = server.connect()
    assert fill(client)[-1] == OOM
    assert server.instance.gates & GATE_OUT_OF_MEMORY
    assert client.execute("GET", "key:0") == b"$1000\r\n" + b"v" * 1000 + b"\r\n"
    assert client.execute("APPEND", "key:0", "v") == OOM
    assert client.execute("PERSIST", "key:0") == b":0\r\n"
    assert client.execute("DEL", *(f"key:{number}" for number in range(20))) == b":20\r\n"
    assert client.execute("SET", "k", "v") == b"+OK\r\n"
    assert not server.instance.gates & GATE_OUT_OF_MEMORY
    info = client.execute("INFO", "errorstats")
    assert b"errorstat_OOM:count=" in info


def test_a_transaction_is_refused_where_it_may_grow() -> None:
    server = server_with()
    client, other = server.connect(), server.connect()
    other.execute("MULTI")
    other.execute("SET", "k", "v")
    fill(client)
    text = OOM[1:-2]
    aborted = b"-EXECABORT Transaction discarded because of: %b\r\n" % text
    assert other.execute("EXEC") == aborted
    client.execute("MULTI")
    assert client.execute("SET", "k", "v") == OOM
    assert client.execute("EXEC").startswith(b"-EXECABORT Transaction discarded because of prev")
    client.execute("MULTI")
    client.execute("GET", "k")
    assert client.execute("EXEC") == b"*1\r\n$-1\r\n"


def test_a_script_may_grow_only_if_it_says_so_or_has_written() -> None:
    client = server_with().connect()
    fill(client)
    write = "return redis.call('set', 'k', 'v')"
    assert client.execute("EVAL", write, "0").startswith(OOM[:-3])
    assert client.execute("EVAL", "#!lua\n" + write, "0") == OOM
    assert client.execute("EVAL", "#!lua flags=allow-oom\n" + write, "0") == b"+OK\r\n"
    assert client.execute("EVAL", "#!lua flags=no-writes\nreturn 1", "0") == b":1\r\n"
    assert client.execute("EVAL", "redis.call('del', 'k') " + write, "0") == b"+OK\r\n"


def test_while_loading_or_paused_nothing_is_evicted() -> None:
    server = server_with("allkeys-lru", maxmemory_eviction_tenacity="100")
    client = server.connect()
    client.execute("CONFIG", "SET", "maxmemory", "0")
    fill(client, 300)
    client.execute("CLIENT", "PAUSE", "100000", "WRITE")
    client.execute("CONFIG", "SET", "maxmemory", str(LIMIT))
    client.execute("GET", "k")
    assert len(server.instance.databases[0]) == 300
    client.execute("CLIENT", "UNPAUSE")
    client.execute("GET", "k")
    assert len(server.instance.databases[0]) < 200


def test_a_short_time_leaves_work_for_later() -> None:
    server = server_with("allkeys-lru", maxmemory_eviction_tenacity="0")
    client = server.connect()
    client.execute("CONFIG", "SET", "maxmemory", "0")
    fill(client, 300)
    client.execute("CONFIG", "SET", "maxmemory", str(LIMIT))
    limit = server.dispatcher.memory_limit
    client.execute("GET", "k")
    assert limit.is_behind and 200 < len(server.instance.databases[0]) < 300
    assert client.execute("SET", "k", "v") == b"+OK\r\n"  # not refused: there is more to evict
    server.instance.monotonic_ms += 250
    while limit.is_behind:
        limit.check()
    info = client.execute("INFO", "stats")
    assert b"total_eviction_exceeded_time:250\r\ncurrent_eviction_exceeded_time:0\r\n" in info
