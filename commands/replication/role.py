"""ROLE: the server's role in replication, and its offset.

Source: redis-server 7.0.15.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import FAST, LOADING, NOSCRIPT, STALE, command
from commands.core.server_state import UNKNOWN
from commands.replication.replica_table import ReplicaTable
from protocol import replies
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
