"""XACK: a consumer is done with entries (reference 1.1, 1.2)."""

from __future__ import annotations

from commands.client import Client
from commands.registry import FAST, WRITE, Argv, command, one_key
from commands.streams.delivery import group_changed
from commands.streams.ids import parse_all
from protocol import replies


@command(
    "XACK",
    arity=-4,
    flags=WRITE | FAST,
    keys=one_key(b"RW", b"UPDATE"),
    group="stream",
    since="5.0.0",
    summary="Acknowledges entries: they are no longer pending in the group.",
    syntax="key group id [id ...]",
    complexity="O(1) for each ID.",
)
def xack(client: Client, argv: Argv) -> bytes:
    """Integer: the number of entries that were pending.

    Without the key or the group that is 0, whatever the IDs are. Source: Redis 7.4.
    """
    key = argv[1]
    stream = client.lookup_stream(key)
    group = None if stream is None else stream.groups.get(argv[2])
    if group is None:
        return replies.ZERO
    acknowledged = sum(map(group.acknowledge, parse_all(argv[3:])))
    if acknowledged:
        group_changed(client, key, acknowledged)
    return replies.integer(acknowledged)
