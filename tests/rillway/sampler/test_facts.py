"""The server's own figures, from canned replies."""

from __future__ import annotations

import pytest

from rillway.sampler.facts import ServerFacts, product_of
from rillway.sampler.figures import HotKey, ReplicaFigures, ServerFigures
from tests.rillway.sampler.canned import NOW_MS, CannedServer, ErrorReply


def ask(facts: ServerFacts, server: CannedServer, seconds: float = 0.0) -> ServerFigures:
    server.advance(seconds)
    for fact in list(facts.due(server.now_s)):
        [reply] = server.call_all([fact.words])
        facts.accept(fact, reply, server.now_s, server.now_us // 1000)
    return facts.figures


@pytest.fixture
def server() -> CannedServer:
    server = CannedServer()
    server.info = {
        "clients": {"connected_clients": 212, "maxclients": 10_000, "blocked_clients": 48},
        "memory": {"used_memory": 1 << 30, "maxmemory": 4 << 30},
        "stats": {"instantaneous_ops_per_sec": 12_400},
        "replication": {
            "role": "master",
            "slave0": "ip=10.0.0.8,port=6379,state=online,offset=5,lag=0",
        },
        "persistence": {
            "aof_enabled": 1, "aof_last_write_status": "ok", "aof_current_size": 1000,
            "rdb_last_save_time": 1_795_607_000, "rdb_last_bgsave_status": "err",
        },
        "keyspace": {"db0": "keys=1000,expires=0,avg_ttl=0", "db3": "keys=2,expires=0"},
    }  # fmt: skip
    server.client_list = (
        b"id=4 addr=10.0.0.7:5 name=w1 age=9 idle=2 flags=b db=0 cmd=xreadgroup user=u tot-mem=99\n"
        b"id=5 addr=10.0.0.7:6 name= age=9 idle=0 flags=N db=0 cmd=client|list user=u\n"
    )
    return server


def test_all_sections_become_figures(server: CannedServer) -> None:
    found = ask(ServerFacts(), server)
    assert (found.product, found.version, found.role) == ("Redis", "8.2.3", "primary")
    assert (found.clients, found.blocked_clients, found.requests_per_s) == (212, 48, 12_400)
    assert (found.used_memory_bytes, found.max_memory_bytes) == (1 << 30, 4 << 30)
    assert found.replicas == (ReplicaFigures("10.0.0.8:6379", "online", 0),)
    assert (found.aof, found.aof_bytes, found.last_save_ok) == ("ok", 1000, False)
    assert found.databases == {0: 1000, 3: 2}
    assert found.blocked == {"XREADGROUP": 1}
    assert found.client_list is not None and found.client_list[0].address == "10.0.0.7:5"
    assert found.slow[0].words == (b"XRANGE", b"audit") and found.slow[0].time_ms == NOW_MS
    latency = found.latency["XADD"]
    assert (latency.calls, latency.p50_us, latency.p99_us, latency.p999_us) == (100, 2, 8, 64)


def test_a_node_of_a_cluster_is_one_of_several(server: CannedServer) -> None:
    assert not ask(ServerFacts(), server).is_cluster_node
    server.info["server"] = {"redis_version": "8.2.3", "redis_mode": "cluster"}
    assert ask(ServerFacts(), server).is_cluster_node


def test_the_uptime_grows_between_two_replies_that_name_it(server: CannedServer) -> None:
    facts = ServerFacts()
    assert ask(facts, server).uptime_s == 60
    assert ask(facts, server, seconds=3).uptime_s == 63


def test_a_server_without_histograms_has_what_its_latency_monitor_saw() -> None:
    facts, server = ServerFacts(), CannedServer("6.2.14")
    ask(facts, server)
    found = ask(facts, server, 1)
    assert found.latency["command"].max_us == 40_000
    assert found.latency["command"].p50_us is None and not found.refused


def test_hot_keys_are_those_of_a_session_if_there_is_one() -> None:
    facts, server = ServerFacts(), CannedServer("8.10.0 rillway")
    assert ask(facts, server).hot_keys == ()
    lists = [b"by-cpu-time-us", [b"a", 900, b"b", 20], b"by-net-bytes", [b"b", 70]]
    server.hot_keys = [[b"tracking-active", 1, *lists]]
    assert ask(facts, server, 5).hot_keys == (HotKey(b"a", 900), HotKey(b"b", 20, 70))
    older = CannedServer("8.2.3")
    facts = ServerFacts()
    assert not ask(facts, older).refused
    ask(facts, older, 30)
    assert len(older.asked("HOTKEYS")) == 1


def test_a_replica_knows_its_primary(server: CannedServer) -> None:
    server.info["replication"] = {
        "role": "slave", "master_host": "10.0.0.1", "master_port": 6379,
        "master_link_status": "down", "master_last_io_seconds_ago": -1,
    }  # fmt: skip
    found = ask(ServerFacts(), server)
    assert (found.role, found.primary, found.primary_link_up) == ("replica", "10.0.0.1:6379", False)
    assert found.replicas == ()


def test_above_a_thousand_clients_they_are_not_listed(server: CannedServer) -> None:
    facts = ServerFacts()
    ask(facts, server)
    server.info["clients"]["connected_clients"] = 1001
    ask(facts, server, 1)
    server.requests.clear()
    found = ask(facts, server, 5)
    assert not server.asked("CLIENT")
    assert found.client_list is None and found.blocked is None and found.blocked_clients == 48


def test_each_request_has_its_interval(server: CannedServer) -> None:
    facts = ServerFacts()
    for _ in range(10):
        ask(facts, server, 1)
    assert len(server.asked("INFO", "stats")) == 10
    assert len(server.asked("CLIENT", "LIST")) == 5
    assert len(server.asked("SLOWLOG")) == 2
    facts.refresh()
    ask(facts, server)
    assert len(server.asked("SLOWLOG")) == 3
    assert facts.wait_s(server.now_s) == pytest.approx(1, abs=0.01)


def test_a_server_that_is_loading_says_so_and_its_figures_stay(server: CannedServer) -> None:
    facts = ServerFacts()
    ask(facts, server)
    [fact, *_] = facts.due(server.now_s + 60)
    facts.accept(fact, ErrorReply("LOADING Redis is loading"), server.now_s, NOW_MS)
    assert facts.figures.error == "LOADING Redis is loading" and facts.figures.clients == 212
    assert ask(facts, server, 120).error is None


@pytest.mark.parametrize(
    ("info", "product"),
    [
        ({"redis_version": "8.10.0", "rillway_version": "0.1.0"}, ("Rillway", "0.1.0")),
        ({"redis_version": "7.2.4", "valkey_version": "8.1.0"}, ("Valkey", "8.1.0")),
        ({"redis_version": "5.0.14"}, ("Redis", "5.0.14")),
    ],
)
def test_a_server_has_a_name(info: dict[str, str], product: tuple[str, str]) -> None:
    assert product_of(info) == product


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"aof_enabled": 0}, "off"),
        ({"aof_enabled": 1, "aof_last_write_status": "err"}, "err"),
        ({"aof_enabled": 1, "aof_rewrite_in_progress": 1}, "rewriting"),
    ],
)
def test_the_append_only_file_has_a_state(fields: dict[str, object], state: str) -> None:
    server = CannedServer()
    server.info["persistence"] = fields
    assert ask(ServerFacts(), server).aof == state
