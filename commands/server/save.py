"""SAVE, BGSAVE, LASTSAVE, BGREWRITEAOF and SHUTDOWN."""

from __future__ import annotations

from commands.core.blocked_clients import Block
from commands.core.client import Client, ClientEvent
from commands.core.registry import (
    ADMIN,
    ALLOW_BUSY,
    FAST,
    LOADING,
    NO_ASYNC_LOADING,
    NO_MULTI,
    NOSCRIPT,
    STALE,
    command,
)
from commands.core.services import Services
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

_SAVE_FAILED = b"ERR"  # Redis's reply has no details; the log has them, here too
_SAVING = b"ERR Background save already in progress"
_REWRITING = b"ERR Background append only file rewriting already in progress"
_OTHER_CHILD = (
    b"ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in"
    b" order to schedule a BGSAVE whenever possible."
)
_REWRITE_FAILED = (
    b"ERR Can't execute an AOF background rewriting. Please check the server logs for more"
    b" information."
)


@command("SAVE", arity=1, flags=ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI)
def save(client: Client, argv: Request) -> bytes:
    """OK once it is on disk. Source: redis-server 7.0.15, as all of this module."""
    instance = client.instance
    if instance.persistence.save_in_progress:
        raise ReplyError(_SAVING)
    if not instance.feature(Services).persistence.save():
        raise ReplyError(_SAVE_FAILED)
    return replies.OK


@command("BGSAVE", arity=-1, flags=ADMIN | NOSCRIPT | NO_ASYNC_LOADING)
def bgsave(client: Client, argv: Request) -> bytes:
    """Status: started, or scheduled. In a transaction it is always scheduled."""
    is_schedule = len(argv) > 1
    if is_schedule and (len(argv) > 2 or argv[1].upper() != b"SCHEDULE"):
        raise ReplyError(errors.SYNTAX)
    instance, state = client.instance, client.instance.persistence
    if state.save_in_progress:
        raise ReplyError(_SAVING)
    in_transaction = client.deny_blocking
    if state.rewrite_in_progress or in_transaction:
        if not is_schedule and not in_transaction:
            raise ReplyError(_OTHER_CHILD)
        state.save_scheduled = True
        return replies.simple(b"Background saving scheduled")
    if not instance.feature(Services).persistence.start_save():
        raise ReplyError(_SAVE_FAILED)
    return replies.simple(b"Background saving started")


@command("LASTSAVE", arity=1, flags=LOADING | STALE | FAST)
def lastsave(client: Client, argv: Request) -> bytes:
    """Unix seconds; the time of the start, as in Redis, when nothing was saved since."""
    return replies.integer(client.instance.persistence.last_save_ms // 1000)


@command("BGREWRITEAOF", arity=1, flags=ADMIN | NOSCRIPT | NO_ASYNC_LOADING)
def bgrewriteaof(client: Client, argv: Request) -> bytes:
    """Status: started, or scheduled. It works with appendonly no, too."""
    instance, state = client.instance, client.instance.persistence
    if state.rewrite_in_progress:
        raise ReplyError(_REWRITING)
    if state.save_in_progress or client.deny_blocking:
        state.rewrite_scheduled = True
        state.rewrite_failures = 0  # an explicit request resets the delay of retries
        return replies.simple(b"Background append only file rewriting scheduled")
    if not instance.feature(Services).persistence.start_rewrite():
        raise ReplyError(_REWRITE_FAILED)
    return replies.simple(b"Background append only file rewriting started")


_OPTIONS = {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"FAILOVER", b"ABORT"}


@command("SHUTDOWN", arity=-1, flags=ADMIN | NOSCRIPT | LOADING | STALE | NO_MULTI | ALLOW_BUSY)
def shutdown(client: Client, argv: Request) -> bytes | Block | None:
    """No reply: the connection closes. If writing to disk fails, an error, and the server goes on,
    unless FORCE is given.

    Without SAVE or NOSAVE there is a snapshot if there are save points. Without NOW a primary first
    waits for its replicas, and ABORT calls that off; while it waits, a further SHUTDOWN waits with
    it, whatever its options are. With FAILOVER a replica takes over first. Source: Redis 7.2, and
    Valkey 9.0 for FAILOVER.
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
    now, force, failover = (word in options for word in (b"NOW", b"FORCE", b"FAILOVER"))
    client.instance.feature(Services).runner.end_script()
    if host.begin_shutdown(save=save, now=now, force=force, failover=failover):
        return Block([], 0, lambda client: None, None)
    if not host.shut_down(save=save, force=force):
        raise ReplyError(errors.SHUTDOWN_FAILED)
    client.enter(ClientEvent.FINISH)  # requests that the client sent after it do not run
    return None


def waits_for_shutdown(client: Client) -> bool:
    """Return True if a blocked client waits for the end of the server (SHUTDOWN)."""
    return client.last_command == b"shutdown"
