"""DEBUG: tools for tests, off unless enable-debug-command allows them."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from commands.core.services import Services
from commands.documentation import help_reply
from commands.keys.pattern import matches
from commands.keys.serialization import snapshot_options
from commands.server.config import is_allowed
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from storage.digest import EMPTY, dataset_digest, redis_digest
from storage.snapshot.payload import serialized_length
from storage.types.value import StringValue, as_int64

ANY_NUMBER = -1  # of arguments

_NOT_ALLOWED = (
    b'ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you'
    b" can run it from a local connection, otherwise you need to set this option in the"
    b" configuration file, and then restart the server."
)


@command("DEBUG", arity=-2, flags=ADMIN | NOSCRIPT | LOADING | STALE)
def debug(client: Client, argv: Request) -> bytes:
    """One command with its words inside, as in Redis: COMMAND knows no sub-commands of it."""
    if not is_allowed(client.instance.config.enable_debug_command, client):
        raise ReplyError(_NOT_ALLOWED)
    tool, arguments = _TOOLS.get(argv[1].upper(), (None, 0))
    if tool is None or arguments not in (len(argv) - 2, ANY_NUMBER):
        raise errors.subcommand_syntax(b"DEBUG", argv[1])
    return tool(client, argv[2:])


def _sleep(client: Client, arguments: Argv) -> bytes:
    """Stop the whole server; a text that is not a number means 0, as in C."""
    try:
        seconds = float(arguments[0])
    except ValueError:
        seconds = 0.0
    if isfinite(seconds) and seconds > 0:
        client.instance.host.pause(seconds)
    return replies.OK


def _object(client: Client, arguments: Argv) -> bytes:
    """Redis's line: where a value is, its encoding, size in a snapshot, and last use."""
    instance = client.instance
    value = client.db.get(arguments[0])
    if value is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    encoding = value.encoding
    length = serialized_length(value, snapshot_options(instance.config), instance.now_ms)
    idle_ms = max(0, instance.now_ms - value.access_ms)
    return replies.simple(
        b"Value at:0x%x refcount:1 encoding:%b serializedlength:%d lru:%d lru_seconds_idle:%d"
        % (id(value), encoding, length, value.access_ms // 1000 & 0xFFFFFF, idle_ms // 1000)
    )


def _digest(client: Client, arguments: Argv) -> bytes:
    """40 hexadecimal digits, all zero if there is nothing (storage/digest.py)."""
    instance = client.instance
    digest = dataset_digest(instance.databases, instance.now_ms)
    return replies.simple(digest.hex().encode())


def _digest_value(client: Client, arguments: Argv) -> bytes:
    """40 hexadecimal digits for each key, all zero if it is not there: those of Redis."""
    db = client.db
    digests = []
    for key in arguments:
        value = db.get(key)
        digest = EMPTY if value is None else redis_digest(value, db.deadline(key))
        digests.append(replies.simple(digest.hex().encode()))
    return replies.array(digests)


def _reload(client: Client, arguments: Argv) -> bytes:
    """Save everything and load it again. MERGE: keys of the file replace existing ones."""
    words = {word.upper() for word in arguments}
    if words - {b"MERGE", b"NOFLUSH", b"NOSAVE"}:
        raise ReplyError(b"ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")
    _refuse_while_loading(client)
    client.instance.feature(Services).persistence.reload_snapshot(
        save=b"NOSAVE" not in words, flush=b"NOFLUSH" not in words, merge=b"MERGE" in words
    )
    return replies.OK


def _load_append_only_file(client: Client, arguments: Argv) -> bytes:
    """Write the append-only file, remove all data, and load the file."""
    _refuse_while_loading(client)
    client.instance.feature(Services).persistence.reload_append_only_file()
    return replies.OK


def _log(client: Client, arguments: Argv) -> bytes:
    """Write a line to the log."""
    text = arguments[0].decode("utf-8", "backslashreplace")
    client.instance.host.log("warning", f"DEBUG LOG: {text}")
    return replies.OK


def _replicate(client: Client, arguments: Argv) -> bytes:
    """Send replicas any request, whether it is a command or not: the data may then differ."""
    if not arguments:
        raise errors.subcommand_syntax(b"DEBUG", b"REPLICATE")
    client.instance.propagation.propagate_message(arguments)
    return replies.OK


def _refuse_while_loading(client: Client) -> None:
    if client.instance.persistence.loading:
        raise ReplyError(errors.LOADING)


def _set_active_expire(client: Client, arguments: Argv) -> bytes:
    client.instance.active_expiry = bool(as_int64(arguments[0]))
    return replies.OK


def _pause_cron(client: Client, arguments: Argv) -> bytes:
    """Stop the work that is done several times a second, or go on with it."""
    client.instance.is_cron_paused = bool(as_int64(arguments[0]))
    return replies.OK


def _populate(client: Client, arguments: Argv) -> bytes:
    """Make strings `<prefix>:<number>`, of `size` bytes if that is given; other keys stay.

    They are not propagated. Source: Redis 8.2.
    """
    if not 1 <= len(arguments) <= 3:
        raise errors.subcommand_syntax(b"DEBUG", b"POPULATE")
    count = parse_int(arguments[0], errors.NOT_POSITIVE, minimum=0)
    prefix = arguments[1] if len(arguments) > 1 else b"key"
    size = parse_int(arguments[2], errors.NOT_POSITIVE, minimum=0) if len(arguments) > 2 else 0
    db, now_ms = client.db, client.instance.now_ms
    for number in range(count):
        key = b"%b:%d" % (prefix, number)
        if key not in db:
            data = b"value:%d" % number
            client.store(key, StringValue(data[:size].ljust(size, b"\0") if size else data, now_ms))
            client.modified(key, 0)
    return replies.OK


def _stringmatch_len(client: Client, arguments: Argv) -> bytes:
    """Integer: 1 if the glob pattern matches the text, else 0."""
    return replies.integer(matches(arguments[0], arguments[1]))


def _help(client: Client, arguments: Argv) -> bytes:
    return help_reply(
        b"DEBUG",
        b"DIGEST",
        b"    A digest of all keys of all databases; equal for equal content.",
        b"DIGEST-VALUE [<key> ...]",
        b"    A digest of what each key holds.",
        b"LOADAOF",
        b"    Write the append-only file, forget everything, and load it.",
        b"LOG <message>",
        b"    Write a line to the log.",
        b"OBJECT <key>",
        b"    The address, encoding, size in a snapshot and idle time of a value.",
        b"PAUSE-CRON <0|1>",
        b"    Stop what is done several times a second, such as expiry and saving.",
        b"POPULATE <count> [<prefix>] [<size>]",
        b"    Make strings, without propagating them.",
        b"RELOAD [MERGE] [NOFLUSH] [NOSAVE]",
        b"    Save a snapshot, forget everything, and load it.",
        b"REPLICATE <word> [<word> ...]",
        b"    Send replicas a request that does not run here.",
        b"SET-ACTIVE-EXPIRE <0|1>",
        b"    Whether expired keys are removed before a client asks for them.",
        b"SLEEP <seconds>",
        b"    Stop the server for so long; decimals are allowed.",
        b"STRINGMATCH-LEN <pattern> <text>",
        b"    Whether a glob pattern matches a text.",
    )


# Name -> function and number of arguments.
_TOOLS: dict[bytes, tuple[Callable[[Client, Argv], bytes], int]] = {
    b"DIGEST": (_digest, 0),
    b"DIGEST-VALUE": (_digest_value, ANY_NUMBER),
    b"LOG": (_log, 1),
    b"LOADAOF": (_load_append_only_file, 0),
    b"PAUSE-CRON": (_pause_cron, 1),
    b"POPULATE": (_populate, ANY_NUMBER),
    b"REPLICATE": (_replicate, ANY_NUMBER),
    b"RELOAD": (_reload, ANY_NUMBER),
    b"SLEEP": (_sleep, 1),
    b"OBJECT": (_object, 1),
    b"SET-ACTIVE-EXPIRE": (_set_active_expire, 1),
    b"STRINGMATCH-LEN": (_stringmatch_len, 2),
    b"HELP": (_help, 0),
}
