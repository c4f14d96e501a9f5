"""PSYNC, SYNC and REPLCONF, which a replica sends to its primary; WAIT and WAITAOF.

A connection becomes a replica's with PSYNC or SYNC. From then on it gets the stream, and nothing
that it sends is answered. It announces itself (REPLCONF) before that.

For WAIT, a replica counts when it has acknowledged the offset of the client's last write. One that
never reports what is on its disk (any Redis before 7.2) does not count for WAITAOF.

Source: docs/architecture/replication.md; redis-server 7.0.15 for texts.
"""

from __future__ import annotations

from commands.connection.client_list import logged_client
from commands.core.arguments import INT64_MAX, parse_int
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.registry import (
    ADMIN,
    ALLOW_BUSY,
    BLOCKING,
    LOADING,
    NO_ASYNC_LOADING,
    NO_MULTI,
    NOSCRIPT,
    STALE,
    command,
)
from commands.core.server_state import RILLWAY
from commands.core.services import Services
from commands.replication.replica_table import Replica, ReplicaTable
from commands.streams.read import parse_block
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import split_inline
from storage.types.value import as_int64

_MAX_IP_BYTES = 256
CAPABILITIES = frozenset({b"eof", b"psync2", RILLWAY})
_ANSWERLESS = {b"ack", b"getack"}


@command("PSYNC", arity=-3, flags=ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI)
def psync(client: Client, argv: Request) -> None:
    """Answered with +CONTINUE and the stream, or with +FULLRESYNC once a snapshot begins."""
    replication = client.instance.feature(Services).replication
    table = client.instance.feature(ReplicaTable)
    if client in table.replicas:
        return
    if len(argv) > 3 and argv[3].lower() == b"failover":
        _take_over(client, argv[1])
    replication.check_can_serve(client)
    offset = as_int64(argv[2])
    if offset is None:
        name = table.announced.get(client, Replica(client)).name
        client.instance.host.log(
            "warning", f"Replica {name} asks for synchronization but with a wrong offset"
        )
        raise ReplyError(errors.NOT_AN_INTEGER)
    replication.synchronise(client, argv[1], offset)


def _take_over(client: Client, replication_id: bytes) -> None:
    host = client.instance.host
    name = replication_id.decode("latin-1")
    host.log("notice", f"Failover request received for replid {name}.")
    client.instance.feature(Services).replication.take_over(replication_id)
    who = logged_client(client)
    host.log("notice", f"MASTER MODE enabled (failover request from '{who}')")


@command("SYNC", arity=1, flags=ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI)
def sync(client: Client, argv: Request) -> None:
    """A snapshot, then the stream; without a reply line before them."""
    if client in client.instance.feature(ReplicaTable).replicas:
        return
    replication = client.instance.feature(Services).replication
    replication.check_can_serve(client)
    replication.synchronise_blindly(client)


@command("REPLCONF", arity=-1, flags=ADMIN | NOSCRIPT | LOADING | STALE | ALLOW_BUSY)
def replconf(client: Client, argv: Request) -> bytes | None:
    """OK, or the error of the first option that is wrong; ACK and GETACK are never answered."""
    if len(argv) % 2 == 0:
        raise ReplyError(errors.SYNTAX)
    for i in range(1, len(argv), 2):
        option, value = argv[i].lower(), argv[i + 1]
        if option == b"ack":
            _acknowledge(client, argv)
        elif option == b"getack":
            client.instance.feature(Services).replication.acknowledge_now()
        else:
            _take_option(client.instance.feature(ReplicaTable).announced_by(client), argv[i], value)
        if option in _ANSWERLESS:
            return None
    return replies.OK


def _acknowledge(client: Client, argv: Request) -> None:
    """`ACK offset [FACK offset]` from a replica; ignored from other clients.

    An offset never decreases: a lower number is ignored.
    """
    replica = client.instance.feature(ReplicaTable).replicas.get(client)
    if replica is None:
        return
    replica.heard_ms = client.instance.monotonic_ms
    offset = as_int64(argv[2])
    if offset is not None:
        replica.offset = max(replica.offset, offset)
    if len(argv) > 4 and argv[3].lower() == b"fack":
        synced = as_int64(argv[4])
        replica.synced_offset = max(replica.synced_offset, synced or 0)
    client.instance.feature(Services).replication.acknowledged(replica)


def _take_option(replica: Replica, name: bytes, value: bytes) -> None:
    option = name.lower()
    if option == b"listening-port":
        replica.port = parse_int(value)
    elif option == b"ip-address":
        if len(value) >= _MAX_IP_BYTES:
            raise errors.replica_address_too_long(len(value))
        replica.announced_ip = value
    elif option == b"capa":
        if value.lower() in CAPABILITIES:  # others are accepted and forgotten, as in Redis
            replica.capabilities.add(value.lower())
    elif option == b"version":
        replica.version = value
    elif option == b"rdb-only":
        number = parse_int(value)
        if number not in (0, 1):
            raise ReplyError(errors.RDB_ONLY_RANGE)
        replica.wants_snapshot_only = number == 1
    elif option == b"rdb-filter-only":
        _take_filter(replica, value)
    else:
        raise errors.unrecognized_replconf_option(name)


def _take_filter(replica: Replica, value: bytes) -> None:
    words = split_inline(value)
    if words is None:
        raise ReplyError(errors.RDB_FILTER_VALUES)
    replica.wants_keys = replica.wants_functions = False
    for word in words:
        if word.lower() != b"functions":
            raise errors.unsupported_rdb_filter(word)
        replica.wants_functions = True


_LOCAL_OUT_OF_RANGE = b"ERR value is out of range, value must between 0 and 1"
_REPLICAS_OUT_OF_RANGE = b"ERR value is out of range, must be positive"
_WAIT_ON_REPLICA = (
    b"ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a"
    b" replica is configured to be writable (which is not the default) writes to replicas are just"
    b" local and are not propagated."
)
_WAITAOF_ON_REPLICA = (
    b"ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas"
    b" are just local and are not propagated."
)
_APPEND_ONLY_FILE_IS_OFF = (
    b"ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
)


@command("WAIT", arity=3, flags=BLOCKING)
def wait(client: Client, argv: Request) -> bytes | Block:
    """Integer: the replicas that have it, at the wanted number or the timeout.

    Source: Redis 7.2.
    """
    if client.instance.replication.is_replica:
        raise ReplyError(_WAIT_ON_REPLICA)
    wanted = parse_int(argv[1])
    timeout_ms = parse_block(argv[2], client.instance.now_ms)
    return _wait_for_replicas(client, wanted, timeout_ms)


def _wait_for_replicas(client: Client, wanted: int, timeout_ms: int) -> bytes | Block:
    offset = client.replicated_offset
    reached = sum(
        replica.offset >= offset for replica in client.instance.feature(ReplicaTable).online
    )
    reply = replies.integer(reached)
    if reached >= wanted or client.deny_blocking:
        return reply
    block = Block([], timeout_ms, lambda _: _wait_for_replicas(client, wanted, timeout_ms), reply)
    replication = client.instance.feature(Services).replication
    replication.answer_when_acknowledged(client, block, reached, on_disk=False)
    return block


@command("WAITAOF", arity=4, flags=BLOCKING)
def waitaof(client: Client, argv: Request) -> bytes | Block:
    """[1 if it is on the disk of this server, replicas on whose disk it is]. Source: Redis 7.2."""
    local = parse_int(argv[1])
    if not 0 <= local <= 1:
        raise ReplyError(_LOCAL_OUT_OF_RANGE)
    replicas = parse_int(argv[2], _REPLICAS_OUT_OF_RANGE, 0, INT64_MAX)
    timeout_ms = parse_block(argv[3], client.instance.now_ms)
    if client.instance.replication.is_replica:
        raise ReplyError(_WAITAOF_ON_REPLICA)
    return _wait_for_disks(client, local, replicas, timeout_ms)


def _wait_for_disks(client: Client, local: int, replicas: int, timeout_ms: int) -> bytes | Block:
    """A `Block` until the counts are reached; the counts at once if the client may not wait."""
    instance = client.instance
    if local and not instance.config.appendonly:
        raise ReplyError(_APPEND_ONLY_FILE_IS_OFF)
    services = instance.feature(Services)
    units, offset = client.write_offset, client.replicated_offset
    is_synced = services.persistence.synced_units >= units
    online = instance.feature(ReplicaTable).online
    reached = sum(replica.synced_offset >= offset for replica in online)
    reply = replies.array([replies.integer(is_synced), replies.integer(reached)])
    if (is_synced >= local and reached >= replicas) or client.deny_blocking:
        return reply
    block = Block(
        [], timeout_ms, lambda client: _wait_for_disks(client, local, replicas, timeout_ms), reply
    )
    if not is_synced:
        services.persistence.answer_when_synced(client, block, units)
    if replicas:
        services.replication.answer_when_acknowledged(client, block, reached, on_disk=True)
    return block
