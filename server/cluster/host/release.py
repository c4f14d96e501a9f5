"""Blocked clients whose slot has left, or whose cluster is down, are told where to go.

Source: Redis 7.0.15, where the server's timer looks; here it is done when slots or state change.
"""

from __future__ import annotations

from commands.cluster.mode import ClusterMode
from commands.cluster.routing import refusal_of_waiting
from commands.core.blocked_clients import BlockedClients
from commands.core.instance import Instance
from commands.core.registry import CommandTable
from commands.core.services import Services


def release_blocked(instance: Instance) -> None:
    """Answer each blocked client that this node no longer serves; it stays connected."""
    node = instance.feature(ClusterMode).node
    blocked = instance.feature_if_used(BlockedClients)
    if node is None or blocked is None:
        return
    table, dispatcher = instance.feature(CommandTable), instance.feature(Services).dispatcher
    for client, waiting in list(blocked.clients.items()):
        command = table.find(waiting.argv)
        if command is None or not waiting.watched:
            continue
        error = refusal_of_waiting(client, command, waiting.argv)
        # Keys that have moved while the slot has not are waited for: the slot follows them.
        if error is not None and error.code in (b"MOVED", b"CLUSTERDOWN"):
            dispatcher.end_waiting(client, error.wire)
