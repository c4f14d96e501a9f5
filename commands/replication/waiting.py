"""WAIT and WAITAOF: a client waits until what it has written is safe.

There are no replicas yet: whoever waits for some waits for its whole timeout, as with Redis.
"""

from __future__ import annotations

from commands.arguments import INT64_MAX, parse_int
from commands.blocking import Block
from commands.client import Client
from commands.registry import BLOCKING, Argv, command
from commands.streams.read_request import parse_block
from protocol import replies
from protocol.errors import ReplyError

_FOR_EVERY_SHARD = (b"request_policy:all_shards", b"response_policy:agg_min")
_LOCAL_OUT_OF_RANGE = b"ERR value is out of range, value must between 0 and 1"
_REPLICAS_OUT_OF_RANGE = b"ERR value is out of range, must be positive"
_APPEND_ONLY_FILE_IS_OFF = (
    b"ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
)


@command(
    "WAIT",
    arity=3,
    flags=BLOCKING,
    group="generic",
    since="3.0.0",
    summary="Waits until replicas have what this connection has written.",
    syntax="numreplicas timeout",
    complexity="O(1)",
    categories=("connection",),
    tips=_FOR_EVERY_SHARD,
)
def wait(client: Client, argv: Argv) -> bytes | Block:
    """How many replicas have it: 0. Source: Redis 7.2."""
    wanted = parse_int(argv[1])
    timeout_ms = parse_block(argv[2], client.instance.now_ms)
    if wanted <= 0 or client.deny_blocking:
        return replies.ZERO
    return Block([], timeout_ms, lambda client: replies.ZERO, replies.ZERO)


@command(
    "WAITAOF",
    arity=4,
    flags=BLOCKING,
    group="generic",
    since="7.2.0",
    summary="Waits until what this connection has written is on disk.",
    syntax="numlocal numreplicas timeout",
    complexity="O(1)",
    categories=("connection",),
    tips=_FOR_EVERY_SHARD,
)
def waitaof(client: Client, argv: Argv) -> bytes | Block:
    """[1 if it is on the disk of this server, replicas on whose disk it is]. Source: Redis 7.2."""
    local = parse_int(argv[1])
    if not 0 <= local <= 1:
        raise ReplyError(_LOCAL_OUT_OF_RANGE)
    replicas = parse_int(argv[2], _REPLICAS_OUT_OF_RANGE, 0, INT64_MAX)
    timeout_ms = parse_block(argv[3], client.instance.now_ms)
    return _wait_for_disks(client, local, replicas, timeout_ms)


def _wait_for_disks(client: Client, local: int, replicas: int, timeout_ms: int) -> bytes | Block:
    """As long as something is missing that may come, and there is time."""
    instance = client.instance
    if local and not instance.config.appendonly:
        raise ReplyError(_APPEND_ONLY_FILE_IS_OFF)
    persistence, units = instance.host.persistence, client.write_offset
    is_synced = persistence.synced_units >= units
    reply = replies.array([replies.integer(is_synced), replies.ZERO])
    if (is_synced >= local and not replicas) or client.deny_blocking:
        return reply
    block = Block(
        [], timeout_ms, lambda client: _wait_for_disks(client, local, replicas, timeout_ms), reply
    )
    if not is_synced:
        persistence.answer_when_synced(client, block, units)
    return block
