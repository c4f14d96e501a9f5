"""PING, ECHO, SELECT, RESET and QUIT: basic commands on the connection.

Source: Redis 7.2.
"""

from __future__ import annotations

from commands.acl.access_control import AccessControl
from commands.connection.invalidation_table import TrackingTable
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.gates import GATE_MONITOR, GATE_SILENT, GATE_SUBSCRIBED
from commands.core.registry import (
    ALLOW_BUSY,
    FAST,
    LOADING,
    NO_AUTH,
    NOSCRIPT,
    STALE,
    UNQUEUED,
    carried,
    command,
)
from commands.hashes.himport import Fieldsets
from commands.pubsub.registry import PubSub
from commands.transactions.transaction import discard_transaction
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

_PONG = replies.bulk(b"pong")
_ALWAYS = NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY


@command("PING", arity=-1, flags=FAST)
def ping(client: Client, request: Request) -> bytes:
    """PONG or the message; to a RESP2 client with subscriptions, an array. Source: Redis 7.2.

    Errors: the arity error for more than one message.
    """
    if request.count > 2:
        raise errors.wrong_arity(b"ping")
    request.mark_quick(0 if request.count == 1 else len(request[1]))
    if client.gates & GATE_SUBSCRIBED:
        message = request[1] if request.count == 2 else b""
        return replies.array([_PONG, replies.bulk(message)])
    return replies.PONG if request.count == 1 else replies.bulk(request[1])


@command("ECHO", arity=2, flags=LOADING | STALE | FAST)
def echo(client: Client, argv: Request) -> bytes:
    """From a primary or a file it may carry a request of Rillway's own. Source: Redis 7.2."""
    if client.replays and (found := carried(client, argv)) is not None:
        command, request = found
        assert command.handler is not None
        dirty = client.instance.dirty
        command.handler(client, Request(request))
        if client.instance.dirty != dirty and not client.propagates:
            client.propagate(*argv.words())  # an ECHO is no write, but what it carries is
    return replies.bulk(argv[1])


@command("SELECT", arity=2, flags=LOADING | STALE | FAST)
def select(client: Client, argv: Request) -> bytes:
    """Errors: no integer, no 32-bit integer, no database of that index. Source: Redis 7.2."""
    index = parse_int(argv[1])
    if not -(1 << 31) <= index < 1 << 31:
        raise ReplyError(errors.NOT_A_32_BIT_INTEGER)
    if client.instance.is_cluster and index:
        raise ReplyError(errors.SELECT_IN_CLUSTER)
    if not 0 <= index < len(client.instance.databases):
        raise ReplyError(errors.DB_INDEX_OUT_OF_RANGE)
    client.db = client.instance.databases[index]
    return replies.OK


@command("RESET", arity=1, flags=_ALWAYS | UNQUEUED)
def reset(client: Client, argv: Request) -> bytes:
    """Ends every mode but a CLIENT REPLY SKIP that covers this request. Source: Redis 7.2.

    The library's name and version (CLIENT SETINFO) stay, because the library stays.
    """
    instance = client.instance
    discard_transaction(client)
    instance.monitors.pop(client, None)
    client.gates &= ~GATE_MONITOR
    client.resp = 2
    instance.feature(PubSub).forget(client)
    instance.feature(TrackingTable).forget(client)
    client.db = instance.databases[0]
    client.name = b""
    client.no_evict = client.no_touch = client.is_asking = client.reads_replica = False
    client.end_feature(Fieldsets)
    if client.reply_mode != b"SKIP":
        client.reply_mode = b"ON"
        client.gates &= ~GATE_SILENT
    instance.feature(AccessControl).admit(client)
    return replies.simple(b"RESET")


@command("QUIT", arity=-1, flags=_ALWAYS | UNQUEUED)
def quit_(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    client.close_after_reply = True
    return replies.OK
