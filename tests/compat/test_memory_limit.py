"""The memory limit refuses what a real Redis 8.2 refuses, with the same words.

With a limit of one byte both servers are above it, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient, parse

pytestmark = pytest.mark.compat

Both = tuple[RespClient, RespClient]

# They end the connection, the server or the comparison, or answer what differs.
NOT_SENT = frozenset(
    b"quit shutdown monitor sync psync replicaof slaveof failover debug exec reset subscribe "
    b"psubscribe ssubscribe client hello config bgsave bgrewriteaof save wait waitaof info command "
    b"time role lastsave lolwut randomkey memory latency slowlog acl eval evalsha eval_ro "
    b"evalsha_ro fcall fcall_ro blpop brpop blmove brpoplpush blmpop bzpopmin bzpopmax bzmpop "
    b"xread xreadgroup".split()
)

# Refused since Redis 8.4 or later.
REFUSED_LATER = {b"hexpire", b"hpexpire", b"hexpireat", b"hpexpireat"}


@pytest.fixture(params=[2, 3])
def both(
    request: pytest.FixtureRequest, rillway_server: RunningServer, redis_server: RunningServer
) -> Iterator[Both]:
    """Connections to both servers, which are empty and without a limit."""
    with (
        rillway_server.connect(protocol=request.param) as ours,
        redis_server.connect(protocol=request.param) as theirs,
    ):
        clients = ours, theirs
        for client in clients:
            client.send("FLUSHALL")
        yield clients
        for client in clients:
            client.send("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")
            client.send("CONFIG", "SET", "lfu-log-factor", "10", "lfu-decay-time", "1")
            client.send("FLUSHALL")


def same(both: Both, *words: str | bytes) -> bytes:
    ours, theirs = both
    expected = theirs.send(*words)
    assert ours.send(*words) == expected, words
    return expected


def same_idle_time(both: Both, key: str) -> None:
    """Redis counts whole seconds of its clock, Rillway those that have passed."""
    ours, theirs = (client.send("OBJECT", "IDLETIME", key) for client in both)
    if ours.startswith(b":") and theirs.startswith(b":"):
        assert abs(int(ours[1:]) - int(theirs[1:])) <= 1
    else:
        assert ours == theirs


def limit(both: Both, policy: str = "noeviction") -> None:
    for client in both:
        client.send("CONFIG", "SET", "maxmemory", "1", "maxmemory-policy", policy)


def test_every_command_is_refused_where_redis_refuses_it(both: Both) -> None:
    described = [parse(client.send("COMMAND")) for client in both]
    ours, theirs = (
        {item.items[0].text: int(item.items[1].text) for item in found.items} for found in described
    )
    names = sorted(set(ours) & set(theirs) - NOT_SENT)
    assert len(names) > 150
    limit(both)
    names = [name for name in names if name not in REFUSED_LATER]
    refused = 0
    for name in names:
        count = abs(theirs[name])
        replies = [client.send(name, *["1"] * (count - 1)) for client in both]
        assert [reply.startswith(b"-OOM") for reply in replies] in ([True] * 2, [False] * 2), name
        refused += replies[0].startswith(b"-OOM")
    assert refused > 40


def test_texts_in_transactions_and_scripts(both: Both) -> None:
    same(both, "SET", "k", "v")
    for client in both:
        client.send("MULTI")
        client.send("APPEND", "k", "v")
    limit_by_others = ["CONFIG", "SET", "maxmemory", "1"]
    for client in both:
        assert client.send("DISCARD") == b"+OK\r\n"
        client.send(*limit_by_others)
    assert same(both, "SET", "k", "v").startswith(b"-OOM command not allowed")
    same(both, "GET", "k")
    same(both, "MULTI")
    same(both, "SET", "k", "v")
    same(both, "EXEC")
    same(both, "MULTI")
    same(both, "GET", "k")
    same(both, "EXEC")
    for body in (
        "return redis.pcall('set', 'k', 'v')",
        "#!lua\nreturn redis.call('set', 'k', 'v')",
        "#!lua flags=allow-oom\nreturn redis.call('set', 'k', 'v')",
        "#!lua flags=no-writes\nreturn redis.call('get', 'k')",
        "redis.call('del', 'k') return redis.call('set', 'k', 'v')",
        "return redis.call('get', 'k')",
    ):
        same(both, "EVAL", body, "0")


@pytest.mark.parametrize("way", ["lru", "lfu", "random", "ttl"])
def test_without_keys_that_expire_a_volatile_policy_evicts_none(both: Both, way: str) -> None:
    same(both, "SET", "k", "v")
    limit(both, f"volatile-{way}")
    assert same(both, "SET", "k", "w").startswith(b"-OOM")
    assert same(both, "GET", "k") == b"$1\r\nv\r\n"
    for client in both:
        client.send("CONFIG", "SET", "maxmemory", "0")
    same(both, "SET", "k", "v", "EX", "1000")
    limit(both, f"volatile-{way}")
    assert same(both, "SET", "other", "w").startswith(b"-OOM")
    same(both, "EXISTS", "k")


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "volatile-lfu", "noeviction"])
def test_object_freq_and_idletime_depend_on_the_policy(both: Both, policy: str) -> None:
    # Each access counts; no count falls when a minute ends between the two servers.
    counts = ["lfu-log-factor", "0", "lfu-decay-time", "0"]
    for client in both:
        client.send("CONFIG", "SET", "maxmemory-policy", policy, *counts)
    same(both, "SET", "k", "v")
    for _ in range(3):
        same(both, "OBJECT", "FREQ", "k")
        same_idle_time(both, "k")
        same(both, "GET", "k")
    same(both, "SET", "k", "v")
    same(both, "OBJECT", "FREQ", "k")
    same(both, "TOUCH", "k")
    same(both, "OBJECT", "FREQ", "k")
    same(both, "RENAME", "k", "l")
    same(both, "OBJECT", "FREQ", "l")
    same(both, "COPY", "l", "m")
    same(both, "OBJECT", "FREQ", "m")
    payload = both[1].send("DUMP", "l").split(b"\r\n", 1)[1][:-2]
    for options in (
        ["FREQ", "77"],
        ["IDLETIME", "33"],
        ["FREQ", "256"],
        ["FREQ", "1", "IDLETIME", "2"],
    ):
        same(both, "RESTORE", "r", "0", payload, "REPLACE", *options)
        same(both, "OBJECT", "FREQ", "r")
        same_idle_time(both, "r")


def test_values_of_the_directives(both: Both) -> None:
    for words in (
        ["maxmemory-samples", "0"],
        ["maxmemory-samples", "65"],
        ["maxmemory", "-1"],
        ["maxmemory", "100mb"],
        ["maxmemory-eviction-tenacity", "101"],
    ):
        same(both, "CONFIG", "SET", *words)
    same(both, "CONFIG", "GET", "maxmemory")
    same(both, "CONFIG", "SET", "maxmemory", "0", "maxmemory-samples", "5")
