"""CLIENT KILL: close connections, one by its address or all that fit a filter.

Source: Redis 7.4.
"""

from __future__ import annotations

from collections.abc import Collection

from commands.acl.access_control import AccessControl
from commands.connection.client_list import client_type, parse_client_type
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client, Clients
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
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
        age_s = (client.instance.now_ms - client.created_ms) // 1000
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
        victim.close_after_reply = True
    else:
        victim.connection.abort()
