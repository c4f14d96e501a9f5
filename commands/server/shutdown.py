"""SHUTDOWN: stop the server."""

from __future__ import annotations

from commands.client import Client
from commands.registry import ADMIN, ALLOW_BUSY, LOADING, NO_MULTI, NOSCRIPT, STALE, Argv, command
from protocol import errors
from protocol.errors import ReplyError

_CANNOT_SAVE = (
    b"ERR Rillway does not have snapshots yet, so SHUTDOWN SAVE has nothing to save to."
    b" Use SHUTDOWN or SHUTDOWN NOSAVE."
)


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
    """No reply: the connection ends. Refused with SAVE, as there is nothing to save to.

    NOW and FORCE change nothing, because there are no replicas to wait for and no save that could
    fail. For the same reason a shutdown is over before ABORT could stop it.
    """
    options = {word.upper() for word in argv[1:]}
    if options == {b"ABORT"}:
        raise ReplyError(b"ERR No shutdown in progress.")
    if not options <= {b"NOSAVE", b"SAVE", b"NOW", b"FORCE"} or {b"SAVE", b"NOSAVE"} <= options:
        raise ReplyError(errors.SYNTAX)
    if b"SAVE" in options:
        raise ReplyError(_CANNOT_SAVE)
    client.instance.host.log("warning", "User requested shutdown...")
    client.close_after_reply = True  # what the client sent behind it is not run
    client.instance.host.request_shutdown()
