"""REPLICAOF and SLAVEOF: follow a primary, or none.

Source: redis-server 7.0.15.
"""

from __future__ import annotations

from commands.connection.client_list import logged_client
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.gates import GATE_REPLICA
from commands.core.registry import ADMIN, NO_ASYNC_LOADING, NOSCRIPT, STALE, command
from commands.core.services import Services
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

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
