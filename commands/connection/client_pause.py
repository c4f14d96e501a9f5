"""CLIENT PAUSE, UNPAUSE and UNBLOCK: postpone requests, resume them, end a wait.

Source: Redis 7.2.
"""

from __future__ import annotations

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client, Clients
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from commands.core.services import Services
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

_FLAGS = ADMIN | NOSCRIPT | LOADING | STALE


@command("CLIENT PAUSE", arity=-3, flags=_FLAGS)
def client_pause(client: Client, argv: Request) -> bytes:
    """`timeout` in ms. A pause on top of another keeps the later end and the stricter mode."""
    if len(argv) > 4:
        raise errors.subcommand_syntax(argv[0], argv[1])
    mode = argv[3].upper() if len(argv) == 4 else b"ALL"
    if mode not in (b"WRITE", b"ALL"):
        raise ReplyError(errors.PAUSE_MODE)
    instance = client.instance
    timeout_ms = parse_int(argv[2], errors.TIMEOUT_NOT_AN_INTEGER)
    if timeout_ms < 0:
        raise ReplyError(errors.TIMEOUT_NEGATIVE)
    if timeout_ms > INT64_MAX - instance.now_ms:
        raise ReplyError(errors.TIMEOUT_OUT_OF_RANGE)
    stops_all = instance.paused_until_ms > instance.now_ms and not instance.pause_writes_only
    instance.pause_writes_only = mode == b"WRITE" and not stops_all
    instance.pause_until(max(instance.paused_until_ms, instance.now_ms + timeout_ms))
    return replies.OK


@command("CLIENT UNPAUSE", arity=2, flags=_FLAGS)
def client_unpause(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    client.instance.pause_until(0)
    client.instance.host.resume_postponed()
    return replies.OK


@command("CLIENT UNBLOCK", arity=-3, flags=_FLAGS)
def client_unblock(client: Client, argv: Request) -> bytes:
    """1 if the client waited, 0 if not or if there is none. Source: Redis 7.2."""
    if len(argv) > 4:
        raise errors.subcommand_syntax(argv[0], argv[1])
    reason = argv[3].upper() if len(argv) == 4 else b"TIMEOUT"
    if reason not in (b"TIMEOUT", b"ERROR"):
        raise ReplyError(errors.UNBLOCK_REASON)
    instance = client.instance
    blocked = instance.feature(Clients).by_id.get(parse_int(argv[2]))
    if blocked is None or not blocked.is_blocked:
        return replies.ZERO
    timeout_reply = instance.feature(BlockedClients).clients[blocked].block.timeout_reply
    if timeout_reply is None:  # SHUTDOWN
        return replies.ZERO
    dispatcher = instance.feature(Services).dispatcher
    if reason == b"TIMEOUT":
        dispatcher.end_waiting(blocked, timeout_reply)
    else:
        error = ReplyError(errors.UNBLOCKED)
        instance.stats.count_error(error.code)
        dispatcher.end_waiting(blocked, error.wire)
    return replies.ONE
