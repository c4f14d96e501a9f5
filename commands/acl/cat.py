"""ACL CAT, GENPASS, DRYRUN and HELP: what helps to write rules."""

from __future__ import annotations

from commands.acl.access_control import AccessControl
from commands.acl.checks import denial, verbose_text
from commands.acl.setuser import FLAGS
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.documentation import help_reply
from commands.core.registry import COMMANDS, LOADING, NOSCRIPT, STALE, CommandTable, command
from commands.server.command.categories import CATEGORIES, acl_categories
from commands.server.command.table import all_commands
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

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
