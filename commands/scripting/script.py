"""SCRIPT LOAD, EXISTS, FLUSH, KILL and HELP; SCRIPT DEBUG is refused."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.documentation import help_reply
from commands.core.registry import ALLOW_BUSY, LOADING, NOSCRIPT, STALE, command, container
from commands.scripting.scripting_state import Scripting
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request

container("SCRIPT")


@command("SCRIPT LOAD", arity=3, flags=NOSCRIPT | STALE)
def script_load(client: Client, argv: Request) -> bytes:
    """The script's SHA1."""
    scripts = client.instance.feature(Scripting).scripts
    return replies.bulk(scripts.take(argv[2], is_loaded=True).sha)


@command("SCRIPT EXISTS", arity=-3, flags=NOSCRIPT)
def script_exists(client: Client, argv: Request) -> bytes:
    """An array of 1 and 0."""
    scripts = client.instance.feature(Scripting).scripts
    return replies.array([replies.ONE if sha in scripts else replies.ZERO for sha in argv[2:]])


@command("SCRIPT FLUSH", arity=-2, flags=NOSCRIPT)
def script_flush(client: Client, argv: Request) -> bytes:
    """ASYNC and SYNC do the same: the whole interpreter is replaced."""
    if len(argv) > 3 or (len(argv) == 3 and argv[2].upper() not in (b"SYNC", b"ASYNC")):
        raise ReplyError(b"ERR SCRIPT FLUSH only support SYNC|ASYNC option")
    client.instance.feature(Scripting).flush_scripts()
    return replies.OK


@command("SCRIPT KILL", arity=2, flags=NOSCRIPT | ALLOW_BUSY)
def script_kill(client: Client, argv: Request) -> bytes:
    """Errors: NOTBUSY, UNKILLABLE; BUSY if a function runs."""
    return client.instance.feature(Scripting).kill(function=False)


@command("SCRIPT DEBUG", arity=3, flags=NOSCRIPT)
def script_debug(client: Client, argv: Request) -> bytes:
    """NO changes nothing; the other modes are refused."""
    mode = argv[2].upper()
    if mode == b"NO":
        return replies.OK
    if mode not in (b"YES", b"SYNC"):
        raise ReplyError(b"ERR Use SCRIPT DEBUG YES/SYNC/NO")
    raise ReplyError(b"ERR SCRIPT DEBUG is not supported: there is no debugger for scripts")


@command("SCRIPT HELP", arity=2, flags=LOADING | STALE)
def script_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"SCRIPT",
        b"DEBUG (YES|SYNC|NO)",
        b"    There is no debugger: only NO is accepted.",
        b"EXISTS <sha1> [<sha1> ...]",
        b"    Whether scripts with these SHA1s are kept.",
        b"FLUSH [ASYNC|SYNC]",
        b"    Forget all scripts.",
        b"KILL",
        b"    End the script that runs, if it has not written.",
        b"LOAD <script>",
        b"    Keep a script for EVALSHA without running it.",
    )
