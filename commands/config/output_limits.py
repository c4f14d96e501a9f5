"""Limits on a client's unsent output: client-output-buffer-limit.

The server checks a connection's output buffer (server/loop/connection.py). This module also counts
replies that are still being collected, so that a batch stops when its output exceeds the limit. As
in Redis, an EXEC always runs to its end; only its replies are dropped.
"""

from __future__ import annotations

from commands.config.directive_kinds import OutputLimit
from commands.core.client import Client
from commands.core.gates import GATE_AUTH, GATE_REPLICA
from commands.core.instance import Instance

# The size of a client's static output buffer in Redis.
_BEFORE_LOGIN = OutputLimit(hard_bytes=16 * 1024, soft_bytes=0, soft_seconds=0)
_LIMITED_GATES = GATE_AUTH | GATE_REPLICA


def is_unlimited(client: Client) -> bool:
    """Return True if the client's output has no limit, as an ordinary client's by default."""
    instance: Instance = client.instance
    return not (instance.limits_output or client.gates & _LIMITED_GATES or client.subscriptions)


def output_limit(client: Client) -> OutputLimit:
    """The limits of the client's class; a fixed one before login, as in Redis."""
    if client.gates & GATE_AUTH:
        return _BEFORE_LOGIN
    limits = client.instance.config.client_output_buffer_limit
    if client.gates & GATE_REPLICA:
        return _of_replica(limits["replica"], client.instance.config.repl_backlog_size)
    return limits["pubsub" if client.subscriptions else "normal"]


def _of_replica(limit: OutputLimit, backlog_bytes: int) -> OutputLimit:
    """A replica's limits, raised to at least the size of the backlog, as in Redis."""
    if not limit.hard_bytes or limit.hard_bytes >= backlog_bytes:
        return limit
    return OutputLimit(backlog_bytes, limit.soft_bytes, limit.soft_seconds)


def output_room_bytes(client: Client) -> int | None:
    """Return the number of bytes that `client.output` may grow by; None without a limit."""
    if is_unlimited(client):
        return None
    hard_bytes = output_limit(client).hard_bytes
    if not hard_bytes:
        return None
    return hard_bytes - client.connection.unsent_bytes()


def drop_for_output(client: Client) -> None:
    """Close the connection of a client whose unsent output exceeds its limit, at once."""
    instance = client.instance
    instance.stats.client_output_buffer_limit_disconnections += 1
    reason = "output buffer limit"
    line = f"{reason}: closing {client.address.decode()}"
    instance.host.log_bounded("warning", reason, line)
    client.connection.abort()
