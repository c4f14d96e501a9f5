"""CLIENT KILL, PAUSE, UNPAUSE and UNBLOCK: commands that act on other connections.

KILL closes one by its address, or all that fit a filter.

Source: Redis 7.2; KILL: 7.4.
"""

from __future__ import annotations

from collections.abc import Collection

from commands.acl.access_control import AccessControl
from commands.connection.client_list import client_type, parse_client_type
from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client, ClientEvent, Clients
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from commands.core.services import Services
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request


@record
class _Filter:
    """The filters of CLIENT KILL; one that is None matches every connection."""

    client_id: int | None = None
    type: bytes | None = None
    user: bytes | None = None
    address: bytes | None = None
    local_address: bytes | None = None
    min_age_s: int | None = None  # what Redis calls MAXAGE
    skips_caller: bool = True

    def fits(self, client: Client, caller: Client) -> bool:
        age_s = (client.instance.monotonic_ms - client.created_ms) // 1000
        return (
            self.client_id in (None, client.id)
            and self.type in (None, client_type(client))
            and self.user in (None, client.user)
            and self.address in (None, client.address)
            and self.local_address in (None, client.connection.local_address)
            and (self.min_age_s is None or age_s >= self.min_age_s)
            and not (self.skips_caller and client is caller)
        )


@command("CLIENT KILL", arity=-3, flags=ADMIN | NOSCRIPT | LOADING | STALE)
def client_kill(client: Client, argv: Request) -> bytes:
    """Integer: the number closed; OK in the old form, which names an address and closes one."""
    if len(argv) == 3:
        return _kill_address(client, argv[2])
    users = client.instance.feature(AccessControl).users
    wanted = _parse(Arguments(argv, 2), users)
    killed = [c for c in client.instance.feature(Clients).by_id.values() if wanted.fits(c, client)]
    for victim in killed:
        _close(victim, client)
    return replies.integer(len(killed))


def _kill_address(client: Client, address: bytes) -> bytes:
    for victim in client.instance.feature(Clients).by_id.values():
        if victim.address == address:
            _close(victim, client)
            return replies.OK
    raise ReplyError(errors.NO_SUCH_CLIENT)


def _parse(arguments: Arguments, users: Collection[bytes]) -> _Filter:
    wanted = _Filter()
    while arguments:
        option, value = arguments.next().upper(), arguments.next()
        if option == b"ID":
            wanted.client_id = parse_int(value, errors.CLIENT_ID_NOT_POSITIVE, minimum=1)
        elif option == b"TYPE":
            wanted.type = parse_client_type(value)
        elif option == b"USER":
            if value not in users:
                raise errors.no_such_user(value)
            wanted.user = value
        elif option == b"ADDR":
            wanted.address = value
        elif option == b"LADDR":
            wanted.local_address = value
        elif option == b"SKIPME" and value.upper() in (b"YES", b"NO"):
            wanted.skips_caller = value.upper() == b"YES"
        elif option == b"MAXAGE":
            wanted.min_age_s = parse_int(value, errors.MAXAGE_NOT_AN_INTEGER)
            if wanted.min_age_s <= 0:
                raise ReplyError(errors.MAXAGE_NOT_POSITIVE)
        else:
            raise ReplyError(errors.SYNTAX)
    return wanted


def _close(victim: Client, caller: Client) -> None:
    """The caller's own connection closes after the reply."""
    if victim is caller:
        victim.enter(ClientEvent.FINISH)
    else:
        victim.connection.abort()


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
    stops_all = instance.paused_until_ms > instance.monotonic_ms and not instance.pause_writes_only
    instance.pause_writes_only = mode == b"WRITE" and not stops_all
    instance.pause_until(max(instance.paused_until_ms, instance.monotonic_ms + timeout_ms))
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
    runner = instance.feature(Services).runner
    if reason == b"TIMEOUT":
        runner.end_waiting(blocked, timeout_reply)
    else:
        error = ReplyError(errors.UNBLOCKED)
        instance.stats.count_error(error.code)
        runner.end_waiting(blocked, error.wire)
    return replies.ONE
