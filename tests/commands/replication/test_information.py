"""INFO replication, and what other sections say of replicas."""

from __future__ import annotations

from server.inprocess.server import InProcessServer
from tests.commands.server.decoder import info_fields


def test_a_primary_without_replicas(server: InProcessServer) -> None:
    fields = info_fields(server.connect().execute("INFO", "replication"))
    assert list(fields) == [
        "role", "connected_slaves", "repl_newer_commands_refused", "repl_last_newer_command",
        "repl_older_replicas_refused", "master_failover_state", "master_replid", "master_replid2",
        "master_repl_offset", "second_repl_offset", "repl_backlog_active", "repl_backlog_size",
        "repl_backlog_first_byte_offset", "repl_backlog_histlen",
    ]  # fmt: skip
    assert fields["master_replid"] == server.instance.replication.replication_id
    assert (fields["role"], fields["second_repl_offset"]) == ("master", "-1")


def test_replicas_are_numbered_and_the_backlog_is_measured() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0", min_replicas_to_write="1")
    replica = server.connect()
    replica.execute("REPLCONF", "listening-port", 7001)
    replica.execute("PSYNC", "?", "-1")
    client = server.connect()
    fields = info_fields(client.execute("INFO", "replication"))
    assert fields["slave0"] == "ip=127.0.0.1,port=7001,state=wait_bgsave,offset=0,lag=0"
    server.tick()
    replica.execute("REPLCONF", "ACK", 0)
    server.advance(3000)
    client.execute("SET", "k", "v")
    fields = info_fields(client.execute("INFO", "replication"))
    assert fields["slave0"] == "ip=127.0.0.1,port=7001,state=online,offset=0,lag=3"
    assert fields["min_slaves_good_slaves"] == "1"
    assert fields["repl_backlog_first_byte_offset"] == "1"
    assert fields["repl_backlog_histlen"] == fields["master_repl_offset"] != "0"
    memory = info_fields(client.execute("INFO", "memory"))
    assert memory["mem_replication_backlog"] == fields["repl_backlog_histlen"]


def test_synchronisations_are_counted_and_set_to_zero() -> None:
    server = InProcessServer(repl_diskless_sync_delay="0")
    server.connect().execute("PSYNC", "?", "-1")
    server.connect().execute("PSYNC", "f" * 40, "7")
    client = server.connect()
    fields = info_fields(client.execute("INFO", "stats"))
    names = ("sync_full", "sync_partial_ok", "sync_partial_err")
    assert [fields[name] for name in names] == ["2", "0", "1"]
    client.execute("CONFIG", "RESETSTAT")
    fields = info_fields(client.execute("INFO", "stats"))
    assert [fields[name] for name in names] == ["0", "0", "0"]
