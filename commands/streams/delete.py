"""XDEL (reference 1.5)."""

from __future__ import annotations

from commands import notifications
from commands.client import Client
from commands.registry import FAST, WRITE, Argv, command, one_key
from commands.streams.ids import parse_all
from protocol import replies


@command(
    "XDEL",
    arity=-3,
    flags=WRITE | FAST,
    keys=one_key(b"RW", b"DELETE"),
    group="stream",
    since="5.0.0",
    summary="Removes entries from a stream; those that are pending stay pending.",
    syntax="key id [id ...]",
    complexity="O(1) for each entry.",
)
def xdel(client: Client, argv: Argv) -> bytes:
    """Integer: the number of entries removed. Source: Redis 7.4."""
    key = argv[1]
    stream = client.lookup_stream_for_write(key)
    if stream is None:
        return replies.ZERO
    deleted = sum(map(stream.delete, parse_all(argv[2:])))
    if deleted:
        client.modified(key, deleted)
        client.notify(notifications.STREAM, b"xdel", key)
    return replies.integer(deleted)
