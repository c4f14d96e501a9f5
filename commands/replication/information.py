"""The replication section of INFO.

Source: redis-server 7.0.15, and the fields that Redis 8 has added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from commands.core.instance import Instance
from commands.core.server_state import UNKNOWN
from commands.replication.replica_table import Replica, ReplicaTable

Field: TypeAlias = "tuple[str, str | int]"


def replication(instance: Instance) -> Iterator[Field]:
    """The role, the link, the replicas, the history."""
    state, config = instance.replication, instance.config
    replicas = instance.feature(ReplicaTable).replicas
    yield "role", "slave" if state.is_replica else "master"
    if state.is_replica:
        yield from _link(instance)
    yield "connected_slaves", len(replicas)
    if config.min_replicas_to_write and config.min_replicas_max_lag:
        yield "min_slaves_good_slaves", state.good_replicas
    for index, replica in enumerate(replicas.values()):
        yield f"slave{index}", _replica(replica, instance.now_ms)
    yield "repl_newer_commands_refused", state.newer_commands_refused
    yield "repl_last_newer_command", state.last_newer_command.decode()
    yield "repl_older_replicas_refused", state.older_replicas_refused
    yield "master_failover_state", state.failover
    yield "master_replid", state.replication_id
    yield "master_replid2", state.second_id
    yield "master_repl_offset", state.offset
    yield "second_repl_offset", state.second_offset
    backlog = state.backlog
    yield "repl_backlog_active", int(backlog is not None)
    yield "repl_backlog_size", config.repl_backlog_size
    yield "repl_backlog_first_byte_offset", 0 if backlog is None else backlog.first_offset
    yield "repl_backlog_histlen", 0 if backlog is None else backlog.length


def _replica(replica: Replica, now_ms: int) -> str:
    lag_s = (now_ms - replica.heard_ms) // 1000 if replica.is_online else 0
    ip = replica.ip.decode("latin-1")
    return (
        f"ip={ip},port={replica.port},state={replica.phase.value},"
        f"offset={replica.offset},lag={lag_s}"
    )


def _link(instance: Instance) -> Iterator[Field]:
    state, config, now_ms = instance.replication, instance.config, instance.now_ms
    link, is_up = state.link, state.is_link_up
    host, port = config.replicaof or ("", 0)
    yield "master_host", host
    yield "master_port", port
    yield "master_link_status", "up" if is_up else "down"
    yield "master_last_io_seconds_ago", (now_ms - link.heard_ms) // 1000 if is_up else UNKNOWN
    yield "master_sync_in_progress", int(link.is_transferring)
    applied = state.offset
    yield "slave_read_repl_offset", max(link.received_offset, applied) if is_up else applied
    yield "slave_repl_offset", applied
    yield "replica_full_sync_buffer_size", 0
    yield "replica_full_sync_buffer_peak", 0
    yield "master_current_sync_attempts", link.attempts
    yield "master_total_sync_attempts", link.total_attempts
    if link.is_transferring:
        yield from _transfer(instance)
    if is_up:
        yield "master_link_up_since_seconds", (now_ms - link.up_since_ms) // 1000
    else:
        since_ms = link.down_since_ms
        down_s = UNKNOWN if since_ms == UNKNOWN else (now_ms - since_ms) // 1000
        yield "master_link_down_since_seconds", down_s
    yield "total_disconnect_time_sec", _disconnected_ms(instance) // 1000
    yield "slave_priority", config.replica_priority
    yield "slave_read_only", int(config.replica_read_only)
    yield "replica_announced", int(config.replica_announced)


def _disconnected_ms(instance: Instance) -> int:
    link = instance.replication.link
    if link.down_since_ms == UNKNOWN or instance.replication.is_link_up:
        return link.down_total_ms
    return link.down_total_ms + instance.now_ms - link.down_since_ms


def _transfer(instance: Instance) -> Iterator[Field]:
    link = instance.replication.link
    total, read = link.snapshot_bytes, link.snapshot_bytes_read
    yield "master_sync_total_bytes", total
    yield "master_sync_read_bytes", read
    yield "master_sync_left_bytes", total - read
    yield "master_sync_perc", f"{100 * read / total if total else 0:.2f}"
    yield (
        "master_sync_last_io_seconds_ago",
        (instance.now_ms - link.snapshot_heard_ms) // 1000,
    )


def buffers(instance: Instance) -> Iterator[Field]:
    """Fields of the memory section. Replicas share the buffer of the backlog."""
    backlog = instance.replication.backlog
    waiting = sum(
        client.connection.unsent_bytes() + replica.held_bytes
        for client, replica in instance.feature(ReplicaTable).replicas.items()
    )
    held = 0 if backlog is None else backlog.length
    yield "mem_replication_backlog", held
    yield "mem_total_replication_buffers", max(held, waiting)
    yield "mem_replica_full_sync_buffer", 0
    yield "mem_clients_slaves", waiting
