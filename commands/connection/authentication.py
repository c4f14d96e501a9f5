"""AUTH and HELLO: authentication, and the protocol version of a connection.

Users and their passwords are in commands/acl/access_control.py.

Source: Redis 8.2.
"""

from __future__ import annotations

from commands.acl.access_control import AccessControl
from commands.acl.users import DEFAULT_USER
from commands.connection.client_attributes import check_name
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.host import reported
from commands.core.registry import ALLOW_BUSY, FAST, LOADING, NO_AUTH, NOSCRIPT, STALE, command
from commands.pubsub.registry import update_gate
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

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
    return replies.OK


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
        b"modules": replies.EMPTY_ARRAY,
    }
    items = [word for name, value in facts.items() for word in (replies.bulk(name), value)]
    return replies.mapping(items, client.resp)
