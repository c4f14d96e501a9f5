"""FAILOVER: hand the role of the primary over to a replica.

Source: Redis 7.0.
"""

from __future__ import annotations

from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import ADMIN, NOSCRIPT, STALE, command
from commands.core.services import Services
from commands.replication.replica_table import ReplicaTable
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request


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
