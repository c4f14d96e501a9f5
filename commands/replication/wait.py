"""WAIT and WAITAOF: wait until a client's writes are replicated or on disk.

A replica counts when it has acknowledged the offset of the client's last write. A replica that
never reports what is on its disk (any Redis before 7.2) does not count for WAITAOF.
"""

from __future__ import annotations

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.registry import BLOCKING, command
from commands.core.services import Services
from commands.replication.replica_table import ReplicaTable
from commands.streams.read import parse_block
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request

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
