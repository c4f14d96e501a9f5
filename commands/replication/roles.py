"""ROLE, REPLICAOF, FAILOVER; the replication section of INFO.

Source: redis-server 7.0.15, and the fields of INFO that Redis 8 has added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from commands.connection.client_list import logged_client
from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.gates import GATE_REPLICA
from commands.core.instance import Instance
from commands.core.registry import ADMIN, FAST, LOADING, NO_ASYNC_LOADING, NOSCRIPT, STALE, command
from commands.core.server_state import UNKNOWN
from commands.core.services import Services
from commands.replication.replica_table import Replica, ReplicaTable
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request


@command("ROLE", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST)
def role(client: Client, argv: Request) -> bytes:
    """A primary lists its replicas, a replica describes its link."""
    instance = client.instance
    return _replica(instance) if instance.replication.is_replica else _primary(instance)


def _primary(instance: Instance) -> bytes:
    state = instance.replication
    replicas = [
        replies.bulk_array([replica.ip, b"%d" % replica.port, b"%d" % replica.offset])
        for replica in instance.feature(ReplicaTable).online
    ]
    items = [replies.bulk(b"master"), replies.integer(state.offset), replies.array(replicas)]
    return replies.array(items)


def _replica(instance: Instance) -> bytes:
    state, address = instance.replication, instance.config.replicaof
    assert address is not None
    offset = state.offset if state.is_link_up else UNKNOWN
    return replies.array(
        [
            replies.bulk(b"slave"),
            replies.bulk(address[0].encode("utf-8", "surrogateescape")),
            replies.integer(address[1]),
            replies.bulk(state.link.phase.value.encode()),
            replies.integer(offset),
        ]
    )


_FLAGS = ADMIN | NOSCRIPT | STALE | NO_ASYNC_LOADING


@command("REPLICAOF", arity=3, flags=_FLAGS)
def replicaof(client: Client, argv: Request) -> bytes:
    """OK at once: the role changes before the link is established."""
    return _change_role(client, argv)


def _change_role(client: Client, argv: Request) -> bytes:
    instance = client.instance
    state = instance.replication
    if instance.is_cluster:
        raise ReplyError(errors.REPLICAOF_IN_CLUSTER)
    if state.failover != "no-failover":
        raise ReplyError(errors.REPLICAOF_WHILE_FAILING_OVER)
    if argv[1].lower() == b"no" and argv[2].lower() == b"one":
        if state.is_replica:
            instance.feature(Services).replication.promote()
            _log(client, "MASTER MODE enabled")
        return replies.OK
    if client.gates & GATE_REPLICA:
        raise ReplyError(errors.NOT_FOR_REPLICAS)
    port = parse_int(argv[2], errors.INVALID_MASTER_PORT, 0, 65535)
    host = argv[1].decode("utf-8", "surrogateescape")
    if instance.config.replicaof == (host, port):
        instance.host.log(
            "notice",
            "REPLICAOF would result into synchronization with the master we are already connected"
            " with. No operation performed.",
        )
        return replies.simple(b"OK Already connected to specified master")
    instance.feature(Services).replication.follow(host, port)
    _log(client, f"REPLICAOF {host}:{port} enabled")
    return replies.OK


def _log(client: Client, what: str) -> None:
    who = logged_client(client)
    client.instance.host.log("notice", f"{what} (user request from '{who}')")


@command("SLAVEOF", arity=3, flags=_FLAGS)
def slaveof(client: Client, argv: Request) -> bytes:
    """OK at once: the role changes before the link is established."""
    return _change_role(client, argv)


@record
class _Request:
    target: tuple[str, int] | None = None
    timeout_ms: int = 0
    force: bool = False
    abort: bool = False


@command("FAILOVER", arity=-1, flags=ADMIN | NOSCRIPT | STALE)
def failover(client: Client, argv: Request) -> bytes:
    """OK as soon as it has begun; INFO and the log report its progress."""
    request = _parse(argv)
    if client.instance.is_cluster:
        raise ReplyError(errors.FAILOVER_IN_CLUSTER)
    state, replication = client.instance.replication, client.instance.feature(Services).replication
    if request.abort:
        if state.failover == "no-failover":
            raise ReplyError(errors.NO_FAILOVER)
        replication.abort_failover()
        return replies.OK
    _check(client.instance, request)
    replication.start_failover(request.target, request.timeout_ms, force=request.force)
    return replies.OK


def _parse(argv: Request) -> _Request:
    request, arguments = _Request(), Arguments(argv, 1)
    if len(argv) == 2 and argv[1].upper() == b"ABORT":
        request.abort = True
        return request
    while arguments:
        word = arguments.next_keyword()
        if word == b"TIMEOUT" and arguments and not request.timeout_ms:
            request.timeout_ms = arguments.next_int(maximum=INT64_MAX >> 1)
            if request.timeout_ms <= 0:
                raise ReplyError(errors.FAILOVER_TIMEOUT)
        elif word == b"TO" and arguments.remaining >= 2 and request.target is None:
            host = arguments.next().decode("latin-1")
            request.target = host, parse_int(arguments.next())
        elif word == b"FORCE" and not request.force:
            request.force = True
        else:
            raise ReplyError(errors.SYNTAX)
    return request


def _check(instance: Instance, request: _Request) -> None:
    state, replicas = instance.replication, instance.feature(ReplicaTable).replicas
    if state.failover != "no-failover":
        raise ReplyError(errors.FAILOVER_IN_PROGRESS)
    if state.is_replica:
        raise ReplyError(errors.FAILOVER_ON_REPLICA)
    if not replicas:
        raise ReplyError(errors.FAILOVER_WITHOUT_REPLICAS)
    if request.force and not (request.timeout_ms and request.target):
        raise ReplyError(errors.FAILOVER_FORCE)
    if request.target is None:
        return
    found = [
        replica
        for replica in replicas.values()
        if (replica.ip.decode("latin-1"), replica.port) == request.target
    ]
    if not found:
        raise ReplyError(errors.FAILOVER_TARGET_UNKNOWN)
    if not found[0].is_online:
        raise ReplyError(errors.FAILOVER_TARGET_OFFLINE)


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
        yield f"slave{index}", _replica_line(replica, instance.monotonic_ms)
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


def _replica_line(replica: Replica, monotonic_ms: int) -> str:
    lag_s = (monotonic_ms - replica.heard_ms) // 1000 if replica.is_online else 0
    ip = replica.ip.decode("latin-1")
    return (
        f"ip={ip},port={replica.port},state={replica.phase.value},"
        f"offset={replica.offset},lag={lag_s}"
    )


def _link(instance: Instance) -> Iterator[Field]:
    state, config, monotonic_ms = instance.replication, instance.config, instance.monotonic_ms
    link, is_up = state.link, state.is_link_up
    host, port = config.replicaof or ("", 0)
    yield "master_host", host
    yield "master_port", port
    yield "master_link_status", "up" if is_up else "down"
    yield "master_last_io_seconds_ago", (monotonic_ms - link.heard_ms) // 1000 if is_up else UNKNOWN
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
        yield "master_link_up_since_seconds", (monotonic_ms - link.up_since_ms) // 1000
    else:
        since_ms = link.down_since_ms
        down_s = UNKNOWN if since_ms == UNKNOWN else (monotonic_ms - since_ms) // 1000
        yield "master_link_down_since_seconds", down_s
    yield "total_disconnect_time_sec", _disconnected_ms(instance) // 1000
    yield "slave_priority", config.replica_priority
    yield "slave_read_only", int(config.replica_read_only)
    yield "replica_announced", int(config.replica_announced)


def _disconnected_ms(instance: Instance) -> int:
    link = instance.replication.link
    if link.down_since_ms == UNKNOWN or instance.replication.is_link_up:
        return link.down_total_ms
    return link.down_total_ms + instance.monotonic_ms - link.down_since_ms


def _transfer(instance: Instance) -> Iterator[Field]:
    link = instance.replication.link
    total, read = link.snapshot_bytes, link.snapshot_bytes_read
    yield "master_sync_total_bytes", total
    yield "master_sync_read_bytes", read
    yield "master_sync_left_bytes", total - read
    yield "master_sync_perc", f"{100 * read / total if total else 0:.2f}"
    yield (
        "master_sync_last_io_seconds_ago",
        (instance.monotonic_ms - link.snapshot_heard_ms) // 1000,
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
