"""ASKING, READONLY and READWRITE: what a connection may ask of a node that does not own a slot.

Source: Redis 7.0.
"""

from __future__ import annotations

from commands.cluster.mode import node_of
from commands.core.client import Client
from commands.core.registry import FAST, LOADING, STALE, command
from protocol import replies
from protocol.request import Request


@command("ASKING", arity=1, flags=FAST)
def asking(client: Client, argv: Request) -> bytes:
    """Have the next request served from a slot that is being imported. Source: Redis 7.0."""
    node_of(client)
    client.is_asking = True
    return replies.OK


@command("READONLY", arity=1, flags=FAST | LOADING | STALE)
def readonly(client: Client, argv: Request) -> bytes:
    """Have reads served by this replica of their slot's owner. Source: Redis 7.0."""
    node_of(client)
    client.reads_replica = True
    return replies.OK


@command("READWRITE", arity=1, flags=FAST | LOADING | STALE)
def readwrite(client: Client, argv: Request) -> bytes:
    """Have all requests sent to the owners of their slots again. Source: Redis 7.0."""
    node_of(client)
    client.reads_replica = False
    return replies.OK
