"""PING, ECHO, SELECT, RESET, QUIT, AUTH and HELLO.

Users and their passwords are in commands/acl/access_control.py.

Source: Redis 7.2; AUTH and HELLO: 8.2.
"""

from __future__ import annotations

from commands.acl.access_control import AccessControl
from commands.acl.users import DEFAULT_USER
from commands.connection.client_attributes import check_name
from commands.connection.invalidation_table import TrackingTable
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client, ClientEvent
from commands.core.gates import GATE_MONITOR, GATE_SILENT, GATE_SUBSCRIBED
from commands.core.host import reported
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
from commands.pubsub.registry import PubSub, update_gate
from commands.transactions.transaction import discard_transaction
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.replies import EMPTY_ARRAY, OK, PONG
from protocol.request import Request

_PONG = replies.bulk(b"pong")
_ALWAYS = NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY


@command("PING", arity=-1, flags=FAST, is_quick=True)
def ping(client: Client, request: Request) -> bytes:
    """PONG or the message; to a RESP2 client with subscriptions, an array. Source: Redis 7.2.

    Errors: the arity error for more than one message.
    """
    if request.count > 2:
        raise errors.wrong_arity(b"ping")
    if client.gates & GATE_SUBSCRIBED:
        message = request[1] if request.count == 2 else b""
        return replies.array([_PONG, replies.bulk(message)])
    return PONG if request.count == 1 else replies.bulk(request[1])


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
    return OK


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
    client.enter(ClientEvent.FINISH)
    return OK


_FLAGS = NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY


@command("AUTH", arity=-2, flags=_FLAGS)
def auth(client: Client, argv: Request) -> bytes:
    """Errors: WRONGPASS; an error of its own if the default user has no password.

    Source: Redis 8.2.
    """
    if len(argv) > 3:
        raise ReplyError(errors.SYNTAX)
    access = client.instance.feature(AccessControl)
    if len(argv) == 3:
        access.log_in(client, argv[1], argv[2], argv[0])
    else:
        # Without a user name the client expects a password that the server does not have.
        if not access.default.needs_password:
            raise ReplyError(errors.AUTH_WITHOUT_PASSWORD)
        access.log_in(client, DEFAULT_USER, argv[1], argv[0])
    return OK


@command("HELLO", arity=-1, flags=_FLAGS)
def hello(client: Client, argv: Request) -> bytes:
    """Facts about the server, as a map in the new protocol.

    Errors: NOPROTO, WRONGPASS, NOAUTH, and those of the options; the protocol stays then.
    Source: Redis 8.2.
    """
    arguments = Arguments(argv, 1)
    version, credentials, name = client.resp, None, None
    if arguments:
        version = parse_int(arguments.next(), errors.PROTOCOL_NOT_AN_INTEGER)
        if version not in (2, 3):
            raise ReplyError(errors.NO_PROTOCOL)
    while arguments:
        option = arguments.next()
        if option.upper() == b"AUTH" and arguments.remaining >= 2:
            credentials = (arguments.next(), arguments.next())
        elif option.upper() == b"SETNAME" and arguments.remaining >= 1:
            name = arguments.next()
            check_name(name)
        else:
            raise errors.hello_option(option)
    if credentials is not None:
        client.instance.feature(AccessControl).log_in(client, *credentials, argv[0])
    if not client.authenticated:
        raise ReplyError(errors.HELLO_WITHOUT_AUTH)
    if name is not None:
        client.name = name
    client.resp = version
    update_gate(client)
    return _facts(client)


def _facts(client: Client) -> bytes:
    facts = {
        b"server": replies.bulk(b"redis"),
        b"version": replies.bulk(reported(client.instance.is_cluster).encode()),
        b"proto": replies.integer(client.resp),
        b"id": replies.integer(client.id),
        b"mode": replies.bulk(b"cluster" if client.instance.is_cluster else b"standalone"),
        b"role": replies.bulk(b"replica" if client.instance.replication.is_replica else b"master"),
        b"modules": EMPTY_ARRAY,
    }
    items = [word for name, value in facts.items() for word in (replies.bulk(name), value)]
    return replies.mapping(items, client.resp)
