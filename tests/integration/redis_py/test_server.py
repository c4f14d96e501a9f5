"""The server commands through redis-py: what it makes of INFO, CONFIG, COMMAND and the others."""

from __future__ import annotations

import pytest
import redis

from tests.integration.redis_py.conftest import Client
from tests.support.programs.servers import RunningServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]


def test_info_is_parsed_into_numbers(client: Client) -> None:
    client.set("k", "v", px=60_000)
    info = client.info("everything")
    assert info["redis_version"].startswith("8.10.")
    assert info["arch_bits"] == 64
    assert info["cluster_enabled"] == 0
    assert info["used_memory"] > 1_000_000
    assert info["connected_clients"] >= 1
    assert info["db0"]["keys"] == info["db0"]["expires"] == 1
    assert 0 < info["db0"]["avg_ttl"] <= 60_000
    assert info["cmdstat_set"]["calls"] >= 1
    assert info["latency_percentiles_usec_set"]["p50"] >= 0
    assert client.info("cpu").keys() >= {"used_cpu_user", "used_cpu_sys"}


def test_configuration_is_read_and_set(client: Client) -> None:
    assert client.config_get("save", "appendonly") == {"save": "", "appendonly": "no"}
    before = client.config_get("hz")["hz"]
    assert client.config_set("hz", 20, "slowlog-max-len", 64)
    assert client.config_get("hz", "slowlog-max-*") == {"hz": "20", "slowlog-max-len": "64"}
    assert client.config_set("hz", before, "slowlog-max-len", 128)
    with pytest.raises(redis.ResponseError, match="Rillway does not have"):
        client.config_set("socket-mark-id", 7)
    assert client.config_resetstat()


def test_the_table_of_commands(client: Client) -> None:
    xadd = client.command()["xadd"]
    assert (xadd["arity"], xadd["first_key_pos"], xadd["last_key_pos"]) == (-5, 1, 1)
    assert client.command_count() == len(client.command())
    assert "xgroup|create" in client.command_list(pattern="x*")
    assert client.command_getkeys("XREAD", "STREAMS", "a", "b", "0", "0") == ["a", "b"]
    assert client.command_getkeysandflags("GET", "a") == [["a", ["RO", "access"]]]


def test_slow_requests_and_latencies(client: Client) -> None:
    client.config_set("slowlog-log-slower-than", 0)
    try:
        client.slowlog_reset()
        client.echo("hello")
        commands = [entry["command"] for entry in client.slowlog_get()]
        assert b"ECHO hello" in commands
        assert client.slowlog_len() >= 2
    finally:
        client.config_set("slowlog-log-slower-than", 10_000)
    assert client.latency_latest() == []
    assert client.latency_history("command") == []
    assert client.latency_reset() == 0
    assert "echo" in client.execute_command("LATENCY HISTOGRAM", "echo")


def test_a_monitor_sees_requests_as_they_run(server: RunningServer, client: Client) -> None:
    with client.monitor() as monitor:
        client.set("key", 'a "quoted"\nvalue')
        seen = next(command for command in monitor.listen() if command["command"].startswith("SET"))
    assert seen["command"] == 'SET key a "quoted"\\nvalue'
    assert seen["db"] == 0
    assert seen["client_type"] == "tcp"
