"""DEBUG: tools for tests. Switched off unless enable-debug-command says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from commands.client import Client
from commands.help import help_reply
from commands.keys.pattern import matches
from commands.registry import ADMIN, LOADING, NOSCRIPT, STALE, Argv, command
from commands.server.access import is_allowed
from protocol import errors, replies
from protocol.errors import ReplyError
from storage.values import StringValue, as_int64

_NOT_ALLOWED = (
    b'ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you'
    b" can run it from a local connection, otherwise you need to set this option in the"
    b" configuration file, and then restart the server."
)


@command(
    "DEBUG",
    arity=-2,
    flags=ADMIN | NOSCRIPT | LOADING | STALE,
    group="server",
    since="1.0.0",
    summary="Tools for tests.",
    syntax="subcommand [argument [argument ...]]",
    complexity="Depends on subcommand.",
)
def debug(client: Client, argv: Argv) -> bytes:
    """One command with its words inside, as in Redis: COMMAND knows no sub-commands of it."""
    if not is_allowed(client.instance.config.enable_debug_command, client):
        raise ReplyError(_NOT_ALLOWED)
    tool, arguments = _TOOLS.get(argv[1].upper(), (None, 0))
    if tool is None or len(argv) - 2 != arguments:
        raise errors.subcommand_syntax(b"DEBUG", argv[1])
    return tool(client, argv[2:])


def _sleep(client: Client, arguments: Argv) -> bytes:
    """Stop the whole server; what is no number is 0, as C reads it."""
    try:
        seconds = float(arguments[0])
    except ValueError:
        seconds = 0.0
    if isfinite(seconds) and seconds > 0:
        client.instance.host.pause(seconds)
    return replies.OK


def _object(client: Client, arguments: Argv) -> bytes:
    """Redis's line without `serializedlength`: values have no serialized form yet."""
    value = client.db.get(arguments[0])
    if value is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    encoding = value.encoding if isinstance(value, StringValue) else b"stream"
    idle_ms = max(0, client.instance.now_ms - value.access_ms)
    return replies.simple(
        b"Value at:0x%x refcount:1 encoding:%b lru:%d lru_seconds_idle:%d"
        % (id(value), encoding, value.access_ms // 1000 & 0xFFFFFF, idle_ms // 1000)
    )


def _set_active_expire(client: Client, arguments: Argv) -> bytes:
    client.instance.active_expiry = bool(as_int64(arguments[0]))
    return replies.OK


def _stringmatch_len(client: Client, arguments: Argv) -> bytes:
    """Whether a glob pattern matches a text: 1 or 0."""
    return replies.integer(matches(arguments[0], arguments[1]))


def _help(client: Client, arguments: Argv) -> bytes:
    return help_reply(
        b"DEBUG",
        b"OBJECT <key>",
        b"    The address, encoding and idle time of a value.",
        b"SET-ACTIVE-EXPIRE <0|1>",
        b"    Whether expired keys are removed before somebody asks for them.",
        b"SLEEP <seconds>",
        b"    Stop the server for so long; decimals are allowed.",
        b"STRINGMATCH-LEN <pattern> <text>",
        b"    Whether a glob pattern matches a text.",
    )


# Name -> function and number of arguments.
_TOOLS: dict[bytes, tuple[Callable[[Client, Argv], bytes], int]] = {
    b"SLEEP": (_sleep, 1),
    b"OBJECT": (_object, 1),
    b"SET-ACTIVE-EXPIRE": (_set_active_expire, 1),
    b"STRINGMATCH-LEN": (_stringmatch_len, 2),
    b"HELP": (_help, 0),
}
