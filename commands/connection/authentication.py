"""AUTH and HELLO: authentication, and the protocol version of a connection.

There is one user, `default`; `requirepass` is its password. A change of the password does not
touch connections that are authenticated already.

Source: Redis 7.2 without ACL.
"""

from __future__ import annotations

from commands.connection.client_attributes import check_name
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.gates import GATE_AUTH
from commands.core.registry import ALLOW_BUSY, FAST, LOADING, NO_AUTH, NOSCRIPT, STALE, command
from commands.core.version import REDIS_VERSION
from commands.pubsub.registry import update_gate
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

DEFAULT_USER = b"default"
_FLAGS = NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY


def require_authentication(client: Client) -> None:
    """Require authentication of a new connection if a password is set."""
    client.user = DEFAULT_USER
    client.authenticated = not client.instance.config.requirepass
    if client.authenticated:
        client.gates &= ~GATE_AUTH
    else:
        client.gates |= GATE_AUTH


@command("AUTH", arity=-2, flags=_FLAGS)
def auth(client: Client, argv: Request) -> bytes:
    """Errors: WRONGPASS; an error of its own if no password is set. Source: Redis 7.2."""
    if len(argv) > 3:
        raise ReplyError(errors.SYNTAX)
    if len(argv) == 3:
        authenticate(client, argv[1], argv[2])
    else:
        # Without a user name the client expects a password that the server does not have.
        if not client.instance.config.requirepass:
            raise ReplyError(errors.AUTH_WITHOUT_PASSWORD)
        authenticate(client, DEFAULT_USER, argv[1])
    return replies.OK


def authenticate(client: Client, user: bytes, password: bytes) -> None:
    """Authenticate the client. Raises WRONGPASS, and leaves its state unchanged then."""
    required = client.instance.config.requirepass
    if user != DEFAULT_USER or (required and not _is_same(required, password)):
        client.instance.stats.acl_access_denied_auth += 1
        raise ReplyError(errors.WRONGPASS)
    client.user = user
    client.authenticated = True
    client.gates &= ~GATE_AUTH


def _is_same(required: str, password: bytes) -> bool:
    """Compare in constant time, by hashes, so that not even the length leaks."""
    import hashlib  # it loads OpenSSL: not at the start
    import hmac

    expected = hashlib.sha256(required.encode("utf-8", "surrogateescape")).digest()
    return hmac.compare_digest(expected, hashlib.sha256(password).digest())


@command("HELLO", arity=-1, flags=_FLAGS)
def hello(client: Client, argv: Request) -> bytes:
    """Facts about the server, as a map in the new protocol.

    Errors: NOPROTO, WRONGPASS, NOAUTH, and those of the options; the protocol stays then.
    Source: Redis 7.2.
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
        authenticate(client, *credentials)
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
        b"version": replies.bulk(REDIS_VERSION.encode()),
        b"proto": replies.integer(client.resp),
        b"id": replies.integer(client.id),
        b"mode": replies.bulk(b"standalone"),
        b"role": replies.bulk(b"replica" if client.instance.replication.is_replica else b"master"),
        b"modules": replies.EMPTY_ARRAY,
    }
    items = [word for name, value in facts.items() for word in (replies.bulk(name), value)]
    return replies.mapping(items, client.resp)
