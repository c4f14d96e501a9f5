"""server/metrics/collection.py: all but streams."""

from __future__ import annotations

import pytest

from commands.server.latency import LatencyMonitor
from server.inprocess.memory_network import Network
from server.inprocess.server import InProcessServer
from server.metrics.collection import _steady
from tests.server.metrics.pages import labels_of, page_of, parsed, samples_of, value


def test_fields_of_info_have_the_names_of_redis_exporter() -> None:
    server = InProcessServer(maxmemory="1gb")
    client = server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    samples = samples_of(server)
    assert value(samples, "redis_up") == 1
    assert value(samples, "redis_memory_max_bytes") == 2**30
    assert value(samples, "redis_keyspace_hits_total") == 1
    assert value(samples, "redis_connected_clients") == 1
    assert value(samples, "redis_rdb_last_bgsave_status") == 1
    assert value(samples, "redis_latest_fork_seconds") == 0
    assert value(samples, "redis_mem_fragmentation_ratio") == value(
        samples, "redis_memory_fragmentation_ratio"
    )
    assert value(samples, "redis_config_maxclients") == 10000


def test_words_that_stand_for_no_number_are_left_out() -> None:
    page = page_of(InProcessServer())
    assert "noeviction" not in page.replace('maxmemory_policy="noeviction"', "")


def test_commands_are_counted_and_their_durations_too() -> None:
    server = InProcessServer()
    client = server.connect()
    for _ in range(3):
        client.execute("PING")
    client.execute("PING", "a")
    client.execute("GET")
    client.execute("LPUSH", "l", "v")
    client.execute("GET", "l")
    samples = samples_of(server)
    assert value(samples, "redis_commands_total", cmd="ping") == 4
    assert value(samples, "redis_commands_rejected_calls_total", cmd="get") == 1
    assert value(samples, "redis_commands_failed_calls_total", cmd="get") == 1
    assert value(samples, "redis_commands_latencies_usec_count", cmd="ping") == 4
    assert value(samples, "redis_commands_latencies_usec_bucket", cmd="ping", le="+Inf") == 4
    assert value(samples, "redis_errors_total", err="WRONGTYPE") == 1


def test_the_bounds_of_a_histogram_stay_when_there_are_more() -> None:
    assert _steady([(2, 5), (8, 6)]) == ([1, 2, 4, 8], [0, 5, 5, 6, 6])
    assert _steady([(1, 1)]) == ([1], [1, 1])


def test_databases_are_counted() -> None:
    server = InProcessServer(databases="20")
    client = server.connect()
    client.execute("SET", "k", "v", "EX", 10)
    client.execute("SELECT", 18)
    client.execute("SET", "k", "v")
    samples = samples_of(server)
    assert value(samples, "redis_db_keys", db="db0") == 1
    assert value(samples, "redis_db_keys_expiring", db="db0") == 1
    assert value(samples, "redis_db_avg_ttl_seconds", db="db0") == pytest.approx(10, abs=1)
    assert value(samples, "redis_db_avg_ttl_seconds", db="db1") is None
    names = labels_of(samples, "redis_db_keys", "db")
    assert names == [f"db{number}" for number in (*range(16), 18)]


def test_a_replica_and_its_primary_are_described() -> None:
    network = Network()
    primary = InProcessServer.in_network(network, port="7001")
    replica = InProcessServer.in_network(network, port="7002", replicaof="127.0.0.1 7001")
    for _ in range(50):
        network.settle()
        primary.advance(1000)
        replica.advance(1000)
    samples = samples_of(primary)
    assert value(samples, "redis_connected_slaves") == 1
    assert labels_of(samples, "redis_connected_slave_lag_seconds", "slave_state") == ["online"]
    link = {"master_host": "127.0.0.1", "master_port": "7001"}
    samples = samples_of(replica)
    assert value(samples, "redis_master_link_up", **link) == 1
    assert value(samples, "redis_slave_info", **link, read_only="1") == 1
    assert value(samples, "redis_slave_repl_offset", **link) is not None
    assert labels_of(samples, "redis_instance_info", "role") == ["slave"]


def test_a_replica_that_came_again_is_there_once() -> None:
    server = InProcessServer()
    for _ in range(2):
        replica = server.connect()
        replica.execute("REPLCONF", "listening-port", "7002", "ip-address", "10.0.0.1")
        replica.execute("PSYNC", "?", "-1")
    assert b"connected_slaves:2" in server.connect().execute("INFO", "replication")
    assert labels_of(samples_of(server), "redis_connected_slave_lag_seconds", "slave_ip") == [
        "10.0.0.1"
    ]


def test_the_slow_log_and_spikes_are_described() -> None:
    server = InProcessServer(slowlog_log_slower_than="0")
    client = server.connect()
    client.execute("PING")
    server.instance.feature(LatencyMonitor).sample(b"command", 250, server.instance.now_ms)
    samples = samples_of(server)
    assert value(samples, "redis_slowlog_length") == 1
    assert value(samples, "redis_latency_spike_duration_seconds", event_name="command") == 0.25


def test_the_process_is_described() -> None:
    samples = samples_of(InProcessServer())
    for name in ("cpu_seconds_total", "resident_memory_bytes", "start_time_seconds"):
        assert value(samples, f"process_{name}") is not None
    assert (value(samples, "process_open_fds") or 0) > 2


def test_the_endpoint_describes_itself() -> None:
    samples = parsed(page_of(InProcessServer(), scrapes=7))
    assert value(samples, "rillway_metrics_scrapes_total") == 7
    assert value(samples, "rillway_metrics_scrape_duration_seconds") == 0
    assert labels_of(samples, "rillway_build_info", "version") == ["0.1.0"]
