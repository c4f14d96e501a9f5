"""ACL SETUSER, GETUSER, DELUSER, LIST, USERS, WHOAMI; CAT, GENPASS, DRYRUN and HELP."""

from __future__ import annotations

from commands.acl import rules
from commands.acl.access_control import AccessControl
from commands.acl.checks import denial, verbose_text
from commands.acl.rules import RuleError, UnmatchedParenthesis
from commands.acl.selectors import Selector
from commands.acl.users import DEFAULT_USER
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import ADMIN, COMMANDS, LOADING, NOSCRIPT, STALE, CommandTable, command
from commands.documentation import help_reply
from commands.server.command import CATEGORIES, acl_categories, all_commands
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
    return replies.bulk_array(client.instance.feature(AccessControl).sorted_names())


@command("ACL WHOAMI", arity=2, flags=NOSCRIPT | LOADING | STALE)
def acl_whoami(client: Client, argv: Request) -> bytes:
    """Bulk string: the name of the connection's user."""
    return replies.bulk(client.user)


_FREE = NOSCRIPT | LOADING | STALE
_DEFAULT_BITS = 256
_MOST_BITS = 4096
_BAD_BITS = (
    b"ERR ACL GENPASS argument must be the number of bits for the output password, a positive"
    b" number up to %d" % _MOST_BITS
)


@command("ACL CAT", arity=-2, flags=_FREE)
def acl_cat(client: Client, argv: Request) -> bytes:
    """Array of the categories, or of the commands of one."""
    if len(argv) > 3:
        raise errors.subcommand_syntax(b"ACL", argv[1])
    if len(argv) == 2:
        return replies.bulk_array([name.encode() for name in CATEGORIES])
    name = argv[2].lower()
    if name.decode("latin-1") not in CATEGORIES:
        raise ReplyError(b"ERR Unknown category '%b'" % argv[2])
    found = [one.fullname for one in all_commands(COMMANDS) if b"@" + name in acl_categories(one)]
    return replies.bulk_array(found)


@command("ACL GENPASS", arity=-2, flags=_FREE)
def acl_genpass(client: Client, argv: Request) -> bytes:
    """Bulk string of hexadecimal digits, by the system's random numbers."""
    if len(argv) > 3:
        raise errors.subcommand_syntax(b"ACL", argv[1])
    bits = _DEFAULT_BITS
    if len(argv) == 3:
        bits = parse_int(argv[2], errors.NOT_AN_INTEGER)
        if not 0 < bits <= _MOST_BITS:
            raise ReplyError(_BAD_BITS)
    return replies.bulk(client.instance.host.random_hex((bits + 3) // 4).encode())


@command("ACL DRYRUN", arity=-4, flags=FLAGS)
def acl_dryrun(client: Client, argv: Request) -> bytes:
    """OK if the user may run the command; if not, why, as a bulk string. Source: Redis 8.2."""
    name, request = argv[2], argv[3:]
    user = client.instance.feature(AccessControl).users.get(name)
    if user is None:
        raise ReplyError(b"ERR User '%b' not found" % name)
    declared = client.instance.feature(CommandTable).find(request)
    if declared is None:
        raise ReplyError(b"ERR Command '%b' not found" % request[0])
    if not declared.accepts(len(request)):
        raise errors.wrong_arity(declared.fullname)
    found = denial(user, declared, request)
    if found is None:
        return replies.OK
    return replies.bulk(verbose_text(name, found, declared, request))


@command("ACL HELP", arity=2, flags=LOADING | STALE)
def acl_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 8.2, for the shape."""
    return help_reply(
        b"ACL",
        b"CAT [<category>]",
        b"    The categories of commands, or the commands of one.",
        b"DELUSER <username> [<username> ...]",
        b"    Remove users, and close their connections.",
        b"DRYRUN <username> <command> [<arg> ...]",
        b"    Whether a user may run a command, which is not run.",
        b"GETUSER <username>",
        b"    The rules of a user.",
        b"GENPASS [<bits>]",
        b"    A random password (default: 256 bits).",
        b"LIST",
        b"    The users, one line each, as the ACL file has them.",
        b"LOAD",
        b"    Replace all users by those of the ACL file.",
        b"LOG [<count> | RESET]",
        b"    The latest refusals, or forget them.",
        b"SAVE",
        b"    Write the users to the ACL file.",
        b"SETUSER <username> <attribute> [<attribute> ...]",
        b"    Make or change a user.",
        b"USERS",
        b"    The names of the users.",
        b"WHOAMI",
        b"    The name of the connection's user.",
    )
