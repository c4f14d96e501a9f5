"""SHUTDOWN: stop the server."""

from __future__ import annotations

from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.registry import ADMIN, ALLOW_BUSY, LOADING, NO_MULTI, NOSCRIPT, STALE, command
from commands.core.services import Services
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

_OPTIONS = {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT"}


@command("SHUTDOWN", arity=-1, flags=ADMIN | NOSCRIPT | LOADING | STALE | NO_MULTI | ALLOW_BUSY)
def shutdown(client: Client, argv: Request) -> bytes | Block | None:
    """No reply: the connection closes. If writing to disk fails, an error, and the server goes on,
    unless FORCE is given.

    Without SAVE or NOSAVE there is a snapshot if there are save points. Without NOW a primary first
    waits for its replicas, and ABORT calls that off; while it waits, a further SHUTDOWN waits with
    it, whatever its options are. Source: Redis 7.2.
    """
    options = {word.upper() for word in argv[1:]}
    host = client.instance.host
    if options == {b"ABORT"}:
        if not host.abort_shutdown():
            raise ReplyError(errors.NO_SHUTDOWN)
        return replies.OK
    if b"ABORT" in options or not options <= _OPTIONS or {b"SAVE", b"NOSAVE"} <= options:
        raise ReplyError(errors.SYNTAX)
    save = True if b"SAVE" in options else False if b"NOSAVE" in options else None
    now, force = b"NOW" in options, b"FORCE" in options
    client.instance.feature(Services).dispatcher.end_script()
    if host.begin_shutdown(save=save, now=now, force=force):
        return Block([], 0, lambda client: None, None)
    if not host.shut_down(save=save, force=force):
        raise ReplyError(errors.SHUTDOWN_FAILED)
    client.close_after_reply = True  # requests that the client sent after it do not run
    return None
