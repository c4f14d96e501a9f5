"""PSYNC, SYNC and REPLCONF: what a replica sends to its primary.

A connection becomes a replica's with PSYNC or SYNC. From then on it gets the stream, and nothing
that it sends is answered. It announces itself (REPLCONF) before that.

Source: docs/architecture/replication.md; redis-server 7.0.15 for texts.
"""

from __future__ import annotations

from commands.connection.client_list import logged_client
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import (
    ADMIN,
    ALLOW_BUSY,
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
    replica.heard_ms = client.instance.now_ms
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
