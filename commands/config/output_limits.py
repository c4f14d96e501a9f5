"""How much output a client may leave waiting: client-output-buffer-limit.

The server looks at what waits in a connection's buffer (server/connection.py). Replies that are
still being collected are counted here, so that a batch or a transaction ends where it has made too
much. As in Redis, what an EXEC has begun it does to the end; only its replies are dropped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from commands.config.directive_kinds import OutputLimit
from commands.core.client import GATE_AUTH, GATE_REPLICA

if TYPE_CHECKING:
    from commands.core.client import Client

# What fits into the first buffer of a client of Redis.
_BEFORE_LOGIN = OutputLimit(hard_bytes=16 * 1024, soft_bytes=0, soft_seconds=0)


def output_limit(client: Client) -> OutputLimit:
    """The limits of the client's class; a fixed one before login, as in Redis."""
    if client.gates & GATE_AUTH:
        return _BEFORE_LOGIN
    limits = client.instance.config.client_output_buffer_limit
    if client.gates & GATE_REPLICA:
        return _of_replica(limits["replica"], client.instance.config.repl_backlog_size)
    subscribed = client.channels or client.patterns or client.shard_channels
    return limits["pubsub" if subscribed else "normal"]


def _of_replica(limit: OutputLimit, backlog_bytes: int) -> OutputLimit:
    """What the backlog may hold for it, it may leave waiting as well."""
    if not limit.hard_bytes or limit.hard_bytes >= backlog_bytes:
        return limit
    return replace(limit, hard_bytes=backlog_bytes)


def output_room_bytes(client: Client) -> int | None:
    """How much more may wait, beside what is in `client.output`; None for any number of bytes."""
    hard_bytes = output_limit(client).hard_bytes
    if not hard_bytes:
        return None
    return hard_bytes - client.instance.host.unsent_bytes(client)


def drop_for_output(client: Client) -> None:
    """Close the connection of a client that leaves too much waiting, at once."""
    instance = client.instance
    instance.stats.client_output_buffer_limit_disconnections += 1
    instance.host.log("warning", f"output buffer limit: closing {client.address!r}")
    instance.host.close(client)
