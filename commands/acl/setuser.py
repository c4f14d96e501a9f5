"""ACL SETUSER, GETUSER, DELUSER, LIST, USERS and WHOAMI: the users."""

from __future__ import annotations

from commands.acl import rules
from commands.acl.access_control import AccessControl
from commands.acl.rules import RuleError, UnmatchedParenthesis
from commands.acl.selectors import Selector
from commands.acl.users import DEFAULT_USER
from commands.core.client import Client
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

FLAGS = ADMIN | NOSCRIPT | LOADING | STALE


@command("ACL SETUSER", arity=-3, flags=FLAGS)
def acl_setuser(client: Client, argv: Request) -> bytes:
    """Make or change a user: all rules, or none if one is invalid. Source: Redis 8.2."""
    access, name = client.instance.feature(AccessControl), argv[2]
    if rules.has_blanks(name):
        raise ReplyError(b"ERR Usernames can't contain spaces or null characters")
    user = access.draft(name)
    try:
        words = rules.joined(argv[3:])
    except UnmatchedParenthesis as error:
        raise ReplyError(b"ERR " + error.reason) from None
    for rule in words:
        try:
            user.apply(rule)
        except RuleError as error:
            raise ReplyError(
                b"ERR Error in ACL SETUSER modifier '%b': %b"
                % (errors.c_string(rule), error.reason)
            ) from None
    access.put(user, client)
    return replies.OK


@command("ACL DELUSER", arity=-3, flags=FLAGS)
def acl_deluser(client: Client, argv: Request) -> bytes:
    """Integer: how many were removed; their connections are closed. Source: Redis 8.2."""
    names = argv[2:]
    if DEFAULT_USER in names:
        raise ReplyError(b"ERR The 'default' user cannot be removed")
    return replies.integer(client.instance.feature(AccessControl).remove(names, client))


@command("ACL GETUSER", arity=3, flags=FLAGS)
def acl_getuser(client: Client, argv: Request) -> bytes:
    """A map; null without such a user. Source: Redis 8.2."""
    user, resp = client.instance.feature(AccessControl).users.get(argv[2]), client.resp
    if user is None:
        return replies.NIL[resp]
    flags = user.flags()
    root, *others = user.selectors
    items = [
        replies.bulk(b"flags"),
        replies.set_header(len(flags), resp) + replies.bulks(flags),
        replies.bulk(b"passwords"),
        replies.bulk_array(user.hashes),
        *_described(root),
        replies.bulk(b"selectors"),
        replies.array([replies.mapping(_described(selector), resp) for selector in others]),
    ]
    return replies.mapping(items, resp)


def _described(selector: Selector) -> list[bytes]:
    fields = {
        b"commands": selector.commands.shown(),
        b"keys": b" ".join(selector.keys.shown()),
        b"channels": b" ".join(selector.channels.shown()),
    }
    return [replies.bulk(word) for pair in fields.items() for word in pair]


@command("ACL LIST", arity=2, flags=FLAGS)
def acl_list(client: Client, argv: Request) -> bytes:
    """Array of the users' lines, as a file has them."""
    users = client.instance.feature(AccessControl).sorted_users()
    return replies.bulk_array([user.line() for user in users])


@command("ACL USERS", arity=2, flags=FLAGS)
def acl_users(client: Client, argv: Request) -> bytes:
    """Array of names."""
    users = client.instance.feature(AccessControl).sorted_users()
    return replies.bulk_array([user.name for user in users])


@command("ACL WHOAMI", arity=2, flags=NOSCRIPT | LOADING | STALE)
def acl_whoami(client: Client, argv: Request) -> bytes:
    """Bulk string: the name of the connection's user."""
    return replies.bulk(client.user)
