"""Clusters of redis-server and Rillway, made by redis-cli, with redis-py's cluster client."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio

from tests.compat.conftest import cluster_of
from tests.support.programs.cluster import Cluster, Node, redis_cli, wait_until

pytestmark = pytest.mark.compat

# A new primary is there after twice the timeout and two seconds.
STREAMS = [f"orders:{number}" for number in range(100)]
KINDS = ("rillway", "redis")


# Both kinds are primaries, and replicas of each other.
cluster = cluster_of(["rillway", "redis", "rillway", "redis", "rillway", "redis"])


def test_all_nodes_agree(cluster: Cluster) -> None:
    for node in cluster.nodes:
        printed = redis_cli("check", node.address)
        assert "[OK] All nodes agree about slots configuration." in printed
        assert "[OK] All 16384 slots covered." in printed
    assert "[OK] 0 keys in 3 masters." in redis_cli("info", cluster.nodes[0].address)
    printed = redis_cli("call", cluster.nodes[0].address, "PING")
    assert printed.count("PONG") == len(cluster.nodes)


def test_streams_and_groups_work_over_all_nodes(client: Any) -> None:
    for stream in STREAMS:
        client.xgroup_create(stream, "billing", id="0", mkstream=True)
        client.xadd(stream, {"n": stream})
    for stream in STREAMS:
        ((_, entries),) = client.xreadgroup("billing", "anna", {stream: ">"}, count=10)
        assert [fields for _, fields in entries] == [{"n": stream}]
        assert client.xack(stream, "billing", entries[0][0]) == 1
        assert client.xpending(stream, "billing")["pending"] == 0
    with client.pipeline() as pipeline:
        for stream in STREAMS:
            pipeline.xlen(stream)
        assert pipeline.execute() == [1] * len(STREAMS)


async def test_the_asyncio_client_is_redirected_as_well(cluster: Cluster) -> None:
    port = cluster.nodes[-1].server.port
    async with redis.asyncio.RedisCluster(host="127.0.0.1", port=port) as client:
        for number in range(50):
            assert await client.set(f"key:{number}", number)
        assert [await client.get(f"key:{number}") for number in range(50)] == [
            b"%d" % n for n in range(50)
        ]


def test_replicas_have_what_their_primaries_have(cluster: Cluster, client: Any) -> None:
    for number in range(50):
        client.set(f"copied:{number}", number)
    for primary in cluster.nodes[:3]:
        replica = cluster.replica_of(primary)
        keys = list(primary.client.scan_iter("copied:*"))
        assert keys
        wait_until(partial(has_keys, replica, len(keys)))
        with pytest.raises(redis.exceptions.MovedError):
            replica.client.get(keys[0])
        replica.client.execute_command("READONLY")
        assert replica.client.get(keys[0]) is not None
        with pytest.raises(redis.exceptions.MovedError):
            replica.client.set(keys[0], "1")
        replica.client.execute_command("READWRITE")


def has_keys(node: Node, number: int) -> bool:
    return len(node.client.keys("copied:*")) == number


def test_a_message_reaches_subscribers_of_all_nodes(cluster: Cluster) -> None:
    subscribers = [node.client.pubsub(ignore_subscribe_messages=True) for node in cluster.nodes]
    for subscriber in subscribers:
        subscriber.subscribe("news")
        subscriber.get_message(timeout=1.0)
    for number, node in enumerate(cluster.nodes):
        node.client.publish("news", str(number))
        for subscriber in subscribers:
            message = subscriber.get_message(timeout=5.0)
            assert message is not None
            assert message["data"] == str(number)
    for subscriber in subscribers:
        subscriber.close()


@pytest.mark.parametrize("primary", [0, 1], ids=KINDS)
def test_a_replica_takes_over_when_it_is_told_to(cluster: Cluster, primary: int) -> None:
    old = cluster.nodes[primary]
    new = cluster.replica_of(old)
    for heir, other in ((new, old), (old, new)):
        wait_until(partial(is_synchronised, heir))
        wait_until(partial(cluster.knows_replica, other, heir))
        take_over(heir)
        wait_until(partial(has_role, other, "slave"))
        wait_until(lambda: all(cluster.is_whole(node) for node in cluster.nodes))


def take_over(replica: Node) -> None:
    """It is given up after five seconds, which a busy machine may need: then it is told again."""
    for _ in range(5):
        replica.client.execute_command("CLUSTER FAILOVER")
        began = time.monotonic()
        while time.monotonic() < began + 6:
            if has_role(replica, "master"):
                return
            time.sleep(0.05)
    raise AssertionError("the replica did not take over")


def has_role(node: Node, role: str) -> bool:
    return bool(node.client.role()[0] == role)


def is_synchronised(replica: Node) -> bool:
    return bool(replica.client.info("replication")["master_link_status"] == "up")


@pytest.mark.parametrize(
    ("source_place", "target_place"),
    [
        pytest.param(1, 2, id="redis to rillway", marks=pytest.mark.thorough),
        pytest.param(2, 1, id="rillway to redis", marks=pytest.mark.thorough),
        pytest.param(2, 0, id="rillway to rillway"),
    ],
)
def test_slots_move_with_their_keys(
    cluster: Cluster, client: Any, source_place: int, target_place: int
) -> None:
    """The streams keep their groups."""
    source, target = cluster.nodes[source_place], cluster.nodes[target_place]
    names = [f"moved:{source_place}{target_place}:{number}" for number in range(300)]
    for name in names:
        client.xadd(name, {"n": name}, id="1-1")
        client.xgroup_create(name, "billing", id="0")
        client.xreadgroup("billing", "anna", {name: ">"})
    before = source.client.dbsize()
    moved = ["--cluster-from", source.id, "--cluster-to", target.id, "--cluster-slots", "300"]
    redis_cli("reshard", source.address, *moved, "--cluster-yes")
    assert source.client.dbsize() < before
    wait_until(lambda: all(cluster.is_whole(node) for node in cluster.nodes))
    wait_until(partial(cluster.agrees, target))
    for name in names:
        assert client.xrange(name) == [("1-1", {"n": name})]
        assert client.xpending(name, "billing")["pending"] == 1
        assert client.xack(name, "billing", "1-1") == 1


@pytest.mark.parametrize("place", [0, 1], ids=KINDS)
def test_a_blocked_reader_follows_its_slot(cluster: Cluster, place: int) -> None:
    owner, heir = cluster.nodes[place], cluster.nodes[2]
    key = next(key for key in map(str, range(1_000)) if serves(owner, key) and is_alone(owner, key))
    slot = owner.client.execute_command("CLUSTER KEYSLOT", key)
    with owner.server.connect(timeout_seconds=20) as connection:
        connection.write("XREAD", "BLOCK", "0", "STREAMS", key, "$")
        wait_until(lambda: int(owner.client.info("clients")["blocked_clients"]) == 1)
        heir.client.execute_command("CLUSTER SETSLOT", slot, "NODE", heir.id)
        owner.client.execute_command("CLUSTER SETSLOT", slot, "NODE", heir.id)
        assert connection.read_reply() == f"-MOVED {slot} {heir.address}\r\n".encode()


def is_alone(node: Node, key: str) -> bool:
    """Whether its slot has no keys."""
    slot = node.client.execute_command("CLUSTER KEYSLOT", key)
    return not node.client.execute_command("CLUSTER COUNTKEYSINSLOT", slot)


def serves(node: Node, key: str) -> bool:
    try:
        return node.client.get(key) is None
    except redis.exceptions.MovedError:
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_takes_over_when_its_primary_is_killed(tmp_path: Path, kind: str) -> None:
    """The last primary is of the kind, its replica of the other."""
    other = KINDS[1 - KINDS.index(kind)]
    cluster = Cluster(tmp_path / "nodes", ["rillway", "redis", kind, "redis", "rillway", other])
    try:
        cluster.create()
        victim = cluster.nodes[2]
        heir = cluster.replica_of(victim)
        port = cluster.nodes[0].server.port
        with redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
            for stream in STREAMS:
                client.xadd(stream, {"n": stream})
            wait_until(lambda: heir.client.dbsize() == victim.client.dbsize())
            victim.kill()
            wait_until(lambda: heir.client.role()[0] == "master")
            survivors = [node for node in cluster.nodes if node is not victim]
            wait_until(lambda: all(node.facts()["cluster_state"] == "ok" for node in survivors))
            assert [client.xlen(stream) for stream in STREAMS] == [1] * len(STREAMS)
    finally:
        cluster.close()


def test_a_primary_that_is_told_to_end_hands_its_slots_over_first(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "nodes", ["rillway"] * 6)
    try:
        cluster.create()
        old = cluster.nodes[2]
        heir = cluster.replica_of(old)
        old.client.config_set("shutdown-on-sigterm", "failover")
        old.client.config_set("shutdown-timeout", 100)
        port = cluster.nodes[0].server.port
        with redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
            stream = next(name for name in map(str, range(99)) if serves(old, name))
            added = [client.xadd(stream, {"n": number}) for number in range(9)]
            old.server.process.terminate()
            while has_role(heir, "slave"):  # nothing is refused meanwhile: writes wait
                added.append(client.xadd(stream, {"n": len(added)}))
            assert old.server.process.wait(timeout=60) == 0
            added.append(client.xadd(stream, {"n": len(added)}))
            assert [entry for entry, _ in client.xrange(stream)] == added
        assert "A replica has taken over." in old.server.output()
    finally:
        cluster.close()


def test_delays_and_deadlines_go_on_when_a_replica_takes_over(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "nodes", ["rillway"] * 6)
    try:
        cluster.create()
        port = cluster.nodes[0].server.port
        with redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
            stream = next(name for name in map(str, range(99)) if serves(cluster.nodes[2], name))
            client.xgroup_create(stream, "g", mkstream=True)
            client.execute_command("XGROUP CONFIG", stream, "g", "ACK-WAIT", 1)
            client.xadd(stream, {"n": "left"})
            assert len(client.xreadgroup("g", "first", {stream: ">"})[0][1]) == 1
            client.execute_command("XADD", stream, "DELAY", 4_000, "*", "n", "late")
            victim = cluster.nodes[2]
            heir = cluster.replica_of(victim)
            heir.client.config_set("policy-grace-ms", 0)
            offset = victim.client.info("replication")["master_repl_offset"]
            wait_until(lambda: heir.client.info("replication")["slave_repl_offset"] >= offset)
            victim.kill()
            wait_until(lambda: has_role(heir, "master"))
            wait_until(lambda: heir.facts()["cluster_state"] == "ok")
            numbers: list[str] = []
            for _ in range(30):
                if len(numbers) == 2:
                    break
                for _, entries in client.xreadgroup("g", "second", {stream: ">"}, block=1000):
                    numbers += [fields["n"] for _, fields in entries]
                    client.xack(stream, "g", *(entry for entry, _ in entries))
            assert numbers == ["left", "late"]
    finally:
        cluster.close()
