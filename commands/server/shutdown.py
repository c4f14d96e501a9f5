"""SHUTDOWN: stop the server."""

from __future__ import annotations

from commands.client import Client
from commands.registry import ADMIN, ALLOW_BUSY, LOADING, NO_MULTI, NOSCRIPT, STALE, Argv, command
from protocol import errors
from protocol.errors import ReplyError

_FAILED = b"ERR Errors trying to SHUTDOWN. Check logs."
_OPTIONS = {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT"}


@command(
    "SHUTDOWN",
    arity=-1,
    flags=ADMIN | NOSCRIPT | LOADING | STALE | NO_MULTI | ALLOW_BUSY,
    group="server",
    since="1.0.0",
    summary="Stops the server.",
    syntax="[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
    history=(("7.0.0", "The modifiers `NOW`, `FORCE` and `ABORT`."),),
)
def shutdown(client: Client, argv: Argv) -> None:
    """No reply: the connection ends. An error, and the server goes on, if the disk does not take
    what it has to, unless FORCE.

    Without SAVE or NOSAVE there is a snapshot if there are save points. NOW changes nothing,
    because there are no replicas to wait for. For the same reason a shutdown is over before ABORT
    could stop it. Source: Redis 7.2.
    """
    options = {word.upper() for word in argv[1:]}
    if options == {b"ABORT"}:
        raise ReplyError(b"ERR No shutdown in progress.")
    if b"ABORT" in options or not options <= _OPTIONS or {b"SAVE", b"NOSAVE"} <= options:
        raise ReplyError(errors.SYNTAX)
    host = client.instance.host
    host.log("warning", "User requested shutdown...")
    save = True if b"SAVE" in options else False if b"NOSAVE" in options else None
    if not host.shut_down(save=save, force=b"FORCE" in options):
        raise ReplyError(_FAILED)
    client.close_after_reply = True  # what the client sent behind it is not run
