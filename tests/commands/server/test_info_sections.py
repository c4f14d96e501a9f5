"""The contents of INFO: the values of its fields are correct."""

from __future__ import annotations

import pytest

from commands.server.info_sections import SECTIONS
from protocol import replies
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import info_fields, server_with


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer(now_ms=1_700_000_000_000)


def fields(client: InProcessClient, section: str) -> dict[str, str]:
    return info_fields(client.execute("INFO", section))


def test_every_field_is_there_once(server: InProcessServer) -> None:
    names = [name for section in SECTIONS.values() for name, _ in section(server.instance)]
    assert len(names) == len(set(names)) > 150


def test_what_clients_steer_by(client: InProcessClient) -> None:
    found = fields(client, "everything")
    assert found["redis_version"].startswith("8.10.")
    assert found["rillway_version"]
    assert found["rillway_compiled"] == str(int(replies.__file__.endswith(".so")))
    assert found["redis_mode"] == "standalone"
    assert found["arch_bits"] == "64"
    assert found["cluster_enabled"] == "0"
    assert found["loading"] == "0"
    assert found["role"] == "master"
    assert found["maxmemory_policy"] == "noeviction"
    assert found["rdb_bgsave_in_progress"] == found["aof_rewrite_in_progress"] == "0"


def test_the_server_section_reports_the_time_and_the_listeners(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.advance(90_000_000)
    found = fields(client, "server")
    assert found["tcp_port"] == "6379"
    assert found["uptime_in_seconds"] == "90000"
    assert found["uptime_in_days"] == "1"
    assert found["server_time_usec"] == "1700090000000000"
    assert found["listener0"] == "name=tcp,bind=127.0.0.1,port=6379"
    assert len(found["run_id"]) == 40


def test_clients_are_counted_by_what_they_do(server: InProcessServer) -> None:
    client, waiter, reader, watcher = (server.connect() for _ in range(4))
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "$")
    waiter.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "t", "$", "$")
    reader.execute("XREADGROUP", "GROUP", "g", "c", "BLOCK", "5000", "STREAMS", "s", ">")
    watcher.execute("WATCH", "s")
    watcher.execute("SUBSCRIBE", "news")
    found = fields(client, "clients")
    assert found["connected_clients"] == "4"
    assert found["blocked_clients"] == "2"
    assert found["clients_in_timeout_table"] == "1"
    assert found["total_blocking_keys"] == "2"
    assert found["total_blocking_keys_on_nokey"] == "1"
    assert found["pubsub_clients"] == "1"
    assert found["watching_clients"] == found["total_watched_keys"] == "1"
    assert found["active_clients"] == "4"
    server.connect()
    server.advance(512)
    found = fields(client, "clients")
    assert (found["connected_clients"], found["active_clients"]) == ("5", "1")


def test_clients_that_a_pause_holds_back_count_as_blocked_at_no_key(
    server: InProcessServer,
) -> None:
    client, writer, other, waiter = (server.connect() for _ in range(4))
    client.execute("CLIENT", "PAUSE", "1000", "WRITE")
    writer.execute("SET", "k", "v")
    other.execute("SET", "k", "v")
    waiter.execute("BLPOP", "l", "100")
    assert fields(client, "clients")["blocked_clients"] == "3"
    other.disconnect()
    found = fields(client, "clients")
    assert found["blocked_clients"] == "2"
    assert found["clients_in_timeout_table"] == found["total_blocking_keys"] == "0"
    server.advance(1000)
    found = fields(client, "clients")
    assert found["blocked_clients"] == found["total_blocking_keys"] == "1"


def test_the_memory_section_reports_the_memory_of_the_process(client: InProcessClient) -> None:
    found = fields(client, "memory")
    assert found["used_memory_rss"] == str(10 * 1024 * 1024)
    assert found["used_memory_rss_human"] == "10.00M"
    assert 0 < int(found["used_memory"]) < 100_000
    assert found["used_memory_peak_perc"] == "100.00%"
    assert found["used_memory_peak_time"] == "1700000000"
    assert found["maxmemory_policy"] == "noeviction"
    assert found["total_system_memory_human"] == "1.00G"


def test_persistence_counts_changes_that_are_on_no_disk(client: InProcessClient) -> None:
    client.execute("SET", "a", "1")
    client.execute("XADD", "s", "*", "f", "v")
    found = fields(client, "persistence")
    assert found["rdb_changes_since_last_save"] == "2"
    assert found["rdb_last_save_time"] == "1700000000"
    assert found["aof_enabled"] == "0"


def test_stats_count_what_was_done(client: InProcessClient) -> None:
    client.execute("SET", "a", "1")
    client.execute("GET", "a")
    client.execute("GET", "missing")
    client.execute("NONSENSE")
    client.execute("SUBSCRIBE", "x", "y")
    client.execute("PSUBSCRIBE", "z*")
    client.execute("RESET")
    found = fields(client, "stats")
    assert found["total_commands_processed"] == "6"
    assert (found["keyspace_hits"], found["keyspace_misses"]) == ("1", "1")
    assert found["total_error_replies"] == "1"
    assert (found["pubsub_channels"], found["pubsub_patterns"]) == ("0", "0")


def test_stats_count_subscriptions_and_expired_keys(
    server: InProcessServer, client: InProcessClient
) -> None:
    listener = server.connect()
    listener.execute("SUBSCRIBE", "x", "y")
    listener.execute("PSUBSCRIBE", "z*")
    client.execute("SET", "a", "1", "PX", "10")
    server.advance(1000)
    found = fields(client, "stats")
    assert (found["pubsub_channels"], found["pubsub_patterns"]) == ("2", "1")
    assert found["expired_keys"] == "1"


def test_expiry_by_the_timer_is_counted_apart(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SET", "a", "1", "PX", "10")
    client.execute("HSET", "h", "f", "1", "g", "1")
    client.execute("HPEXPIRE", "h", "10", "FIELDS", "1", "f")
    server.advance(1000)
    server.instance.active_expiry = False
    client.execute("SET", "b", "1", "PX", "10")
    server.advance(1000)
    client.execute("GET", "b")
    found = fields(client, "stats")
    assert (found["expired_keys"], found["expired_keys_active"]) == ("2", "1")
    assert (found["expired_subkeys"], found["expired_subkeys_active"]) == ("1", "1")


def test_stats_count_how_many_requests_arrive_together(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("CONFIG", "RESETSTAT")
    client.pipeline(*[("PING",)] * 8)
    client.feed(b"*1\r\n")
    client.feed(b"$4\r\nPING\r\n")
    found = fields(client, "stats")
    assert (found["avg_pipeline_length_sum"], found["avg_pipeline_length_cnt"]) == ("10", "3")
    assert found["avg_pipeline_length"] == "3.33"
    assert found["total_client_processing_events"] == "4"
    assert found["eventloop_cycles_with_clients_processing"] == "3"  # that of INFO is not over


def test_slow_commands_are_counted_in_all_and_by_command() -> None:
    client = server_with(slowlog_log_slower_than="0", slowlog_max_len="1").connect()
    client.execute("CONFIG", "RESETSTAT")
    client.execute("SET", "a", "1")
    client.execute("SET", "a", "2")
    client.execute("SLOWLOG", "RESET")
    found = fields(client, "stats")
    assert int(found["slowlog_commands_count"]) >= 3  # RESETSTAT itself is one
    longest, total = (float(found[f"slowlog_commands_time_ms_{of}"]) for of in ("max", "sum"))
    assert 0 <= longest <= total
    found = fields(client, "commandstats")
    assert ",slowlog_count=2,slowlog_time_ms_sum=" in found["cmdstat_set"]
    client.execute("CONFIG", "SET", "slowlog-log-slower-than", "-1")
    client.execute("CONFIG", "RESETSTAT")
    assert fields(client, "stats")["slowlog_commands_count"] == "0"
    client.execute("GET", "a")
    assert "slowlog" not in fields(client, "commandstats")["cmdstat_get"]


def test_rates_come_from_samples(server: InProcessServer, client: InProcessClient) -> None:
    stats = server.instance.stats
    stats.sample(monotonic_ms=1000, replicated=(0, 0))
    stats.commands_processed += 320
    stats.net_input_bytes += 160 * 1024
    stats.sample(monotonic_ms=1100, replicated=(16 * 1024, 160 * 1024))
    found = fields(client, "stats")
    assert found["instantaneous_ops_per_sec"] == "200"
    assert found["instantaneous_input_kbps"] == "100.00"
    assert found["instantaneous_input_repl_kbps"] == "10.00"
    assert found["instantaneous_output_repl_kbps"] == "100.00"


def test_commandstats_count_calls_failures_and_refusals(client: InProcessClient) -> None:
    client.execute("GET", "a")
    client.execute("GET", "a")
    client.execute("GET")
    client.execute("XADD", "s", "*", "f", "v")
    client.execute("GET", "s")
    found = fields(client, "commandstats")
    get = dict(pair.split("=") for pair in found["cmdstat_get"].split(","))
    assert (get["calls"], get["failed_calls"], get["rejected_calls"]) == ("3", "1", "1")
    assert list(get)[:5] == ["calls", "usec", "usec_per_call", "rejected_calls", "failed_calls"]
    assert "cmdstat_set" not in found


def test_commandstats_name_subcommands_with_their_container(client: InProcessClient) -> None:
    client.execute("CONFIG", "GET", "port")
    assert "cmdstat_config|get" in fields(client, "commandstats")


def test_errorstats_count_by_the_first_word(client: InProcessClient) -> None:
    client.execute("XADD", "s", "*", "f", "v")
    client.execute("GET", "s")
    client.execute("NONSENSE")
    assert fields(client, "errorstats") == {
        "errorstat_WRONGTYPE": "count=1",
        "errorstat_ERR": "count=1",
    }


def test_latencystats_show_the_percentiles_of_the_configuration() -> None:
    server = server_with(latency_tracking_info_percentiles="50 99.99 100")
    client = server.connect()
    client.execute("PING")
    (histogram,) = [stats.histogram for stats in server.instance.stats.commands.values()]
    histogram.clear()
    for _ in range(3):
        histogram[7] += 1
    histogram[552] += 1
    assert fields(client, "latencystats") == {
        "latency_percentiles_usec_ping": "p50=7.007,p99.99=552.959,p100=552.959"
    }


def test_the_keyspace_section_lists_databases_with_keys(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SET", "a", "1")
    client.execute("SET", "b", "1", "PX", "1000")
    client.execute("SET", "c", "1", "PX", "3000")
    client.execute("SELECT", "3")
    client.execute("SET", "a", "1")
    assert fields(client, "keyspace") == {
        "db0": "keys=3,expires=2,avg_ttl=2000,subexpiry=0",
        "db3": "keys=1,expires=0,avg_ttl=0,subexpiry=0",
    }


def test_cpu_time_is_reported_in_seconds(client: InProcessClient) -> None:
    found = fields(client, "cpu")
    assert (found["used_cpu_user"], found["used_cpu_sys"]) == ("1.000000", "0.500000")


def test_keysizes_count_streams_by_entries_and_strings_by_bytes(client: InProcessClient) -> None:
    assert fields(client, "keysizes") == {}
    for length in (0, 1, 2, 5, 7, 1024):
        key = f"s{length}"
        client.execute("XGROUP", "CREATE", key, "g", "0", "MKSTREAM")
        client.pipeline(*(("XADD", key, f"{i}-1", "f", "v") for i in range(1, length + 1)))
    client.execute("SET", "small", "v" * 511)
    client.execute("SET", "large", "v" * (5 * 1024 * 1024))
    client.execute("SELECT", "3")
    client.execute("XADD", "s", "*", "f", "v")
    assert fields(client, "keysizes") == {
        "db0_distrib_strings_sizes": "256=1,4M=1",
        "db0_distrib_streams_items": "0=1,1=1,2=1,4=2,1K=1",
        "db3_distrib_streams_items": "1=1",
    }
    client.execute("XDEL", "s", "1-1")
    client.execute("XTRIM", "s", "MAXLEN", "0")
    assert fields(client, "keysizes")["db3_distrib_streams_items"] == "0=1"


def test_keysizes_count_the_items_of_every_type(client: InProcessClient) -> None:
    for request in ("HSET h a 1 b 2 c 3", "RPUSH l a b", "SADD s a", "ZADD z 1 a 2 b", "SET t x"):
        client.execute(*request.split())
    assert fields(client, "keysizes") == {
        "db0_distrib_strings_sizes": "1=1",
        "db0_distrib_lists_items": "2=1",
        "db0_distrib_sets_items": "1=1",
        "db0_distrib_zsets_items": "2=1",
        "db0_distrib_hashes_items": "2=1",
    }


def test_loading_is_reported_with_its_progress(
    server: InProcessServer, client: InProcessClient
) -> None:
    assert "loading_start_time" not in fields(client, "persistence")
    state = server.instance.persistence
    server.instance.set_loading(True)
    state.loading_started_ms = server.now_ms
    state.loading_since_ms = server.monotonic_ms
    state.loading_total_bytes, state.loading_loaded_bytes = 4000, 0
    assert fields(client, "persistence")["loading_loaded_perc"] == "0.00"
    state.loading_loaded_bytes = 1000
    assert fields(client, "persistence")["loading_eta_seconds"] == "1"
    server.environment.pass_time(10_000)
    found = fields(client, "persistence")
    assert found["loading"] == "1"
    assert found["loading_start_time"] == "1700000000"
    assert found["loading_loaded_perc"] == "25.00"
    assert found["loading_eta_seconds"] == "30"


def test_sizes_of_the_append_only_file_are_reported_if_there_is_one() -> None:
    assert "aof_current_size" not in fields(InProcessServer().connect(), "persistence")
    client = InProcessServer(appendonly="yes").connect()
    before = fields(client, "persistence")
    client.execute("SET", "k", "v")
    after = fields(client, "persistence")
    assert after["aof_enabled"] == "1"
    assert before["aof_base_size"] == after["aof_base_size"] == before["aof_current_size"]
    grown = int(after["aof_current_size"]) - int(before["aof_current_size"])
    assert grown == len(
        b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"
    )
    assert after["aof_buffer_length"] == after["aof_pending_bio_fsync"] == "0"
