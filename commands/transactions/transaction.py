"""MULTI, EXEC, DISCARD, WATCH and UNWATCH.

Between MULTI and EXEC the dispatcher queues requests (server/requests/dispatch.py). It checks what
it can before they run; if it refuses one, EXEC fails. EXEC runs the queue without requests of other
clients in between, each command with its own reply or error; an error does not stop the others.

A change of a watched key marks its watchers (`Instance.key_modified`). Expiry is a change too: EXEC
fails if a key that was alive when it was watched has expired since, removed or not. A key that had
already expired when it was watched counts as missing, so its removal changes nothing.

Source: Redis 7.2.
"""

from __future__ import annotations

import cython

from commands.core.client import Client
from commands.core.gates import GATE_MULTI
from commands.core.long_reply import LongReply
from commands.core.registry import (
    ALLOW_BUSY,
    FAST,
    LOADING,
    NOSCRIPT,
    RUNS_LUA,
    SKIP_SLOWLOG,
    STALE,
    UNQUEUED,
    Command,
    Reply,
    command,
    keys_to_end,
)
from commands.core.services import Services
from commands.transactions.watched_keys import WatchedKeys, Watchers
from protocol import errors, replies
from protocol.errors import ReplyError, RoutingError
from protocol.request import Request


@command(
    "WATCH",
    arity=-2,
    flags=NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY | UNQUEUED,
    keys=keys_to_end(b"RO"),
)
def watch(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    if client.gates & GATE_MULTI:
        raise ReplyError(errors.WATCH_INSIDE_MULTI)
    keys = client.feature(WatchedKeys)
    if keys.has_changed:
        return replies.OK  # the next transaction fails already, whatever else is watched
    watchers = client.instance.feature(Watchers)
    for key in argv[1:]:
        watchers.watch(client, keys, key)
    return replies.OK


@command("UNWATCH", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY)
def unwatch(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    client.instance.feature(Watchers).unwatch(client)
    return replies.OK


def a_watched_key_changed(client: Client) -> bool:
    """Return True if the transaction must fail because a watched key changed or expired."""
    keys, instance = client.feature_if_used(WatchedKeys), client.instance
    if keys is None:
        return False
    if keys.has_changed:
        return True
    for (db_index, key), was_expired in keys.expired.items():
        if not was_expired and instance.databases[db_index].is_expired(key, instance.now_ms):
            return True
    return False


_BEGINS_OR_ENDS = NOSCRIPT | LOADING | STALE | UNQUEUED
_RUNS_LUA: cython.long = RUNS_LUA


@cython.cclass
class Transaction:
    """The state of a client between MULTI and EXEC."""

    __slots__ = ("commands", "is_refused", "requests", "runs_lua")

    def __init__(self) -> None:
        # The queue: the request at a place is one of the command at that place.
        self.commands: list[Command] = []
        self.requests: list[Request] = []
        self.runs_lua = False  # one of them does
        self.is_refused = False  # a request was: EXEC fails

    def add(self, command: Command, request: Request, flags: cython.long) -> None:
        """Queue a request of a command with these flags; nothing after one that was refused."""
        if self.is_refused:
            return
        self.commands.append(command)
        self.requests.append(request.keep())
        if flags & _RUNS_LUA:
            self.runs_lua = True


@command("MULTI", arity=1, flags=_BEGINS_OR_ENDS | FAST | ALLOW_BUSY)
def multi(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    if client.gates & GATE_MULTI:
        raise ReplyError(errors.NESTED_MULTI)
    client.feature(Transaction)
    client.gates |= GATE_MULTI
    return replies.OK


@command("EXEC", arity=1, flags=_BEGINS_OR_ENDS | SKIP_SLOWLOG)
def exec_(client: Client, argv: Request) -> Reply:
    """The replies of the queued requests; null if a watched key changed.

    Errors: EXECABORT if a request was refused when it was queued. Source: Redis 7.2.
    """
    transaction: Transaction | None = client.feature_if_used(Transaction)
    if transaction is None:
        raise ReplyError(errors.EXEC_WITHOUT_MULTI)
    if transaction.runs_lua:
        return client.instance.feature(Services).runner.run_with_pauses(
            client, argv.words(), lambda: _execute(client, transaction)
        )
    return _execute(client, transaction)


def _execute(client: Client, transaction: Transaction) -> bytes | LongReply:
    """Run the transaction if no watched key changed, and clear its state."""
    try:
        if transaction.is_refused:
            raise ReplyError(errors.EXEC_ABORT)
        if a_watched_key_changed(client):
            return replies.NIL_ARRAY[client.resp]
        # What the transaction itself changes must not count against its watches.
        client.instance.feature(Watchers).unwatch(client)
        client.gates &= ~GATE_MULTI  # queued requests run without it: they were checked
        client.deny_blocking = True
        try:
            return client.instance.feature(Services).runner.run_queue(
                client, transaction.commands, transaction.requests
            )
        finally:
            client.deny_blocking = False
    finally:
        discard_transaction(client)


@command("DISCARD", arity=1, flags=_BEGINS_OR_ENDS | FAST | ALLOW_BUSY)
def discard(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    if client.feature_if_used(Transaction) is None:
        raise ReplyError(errors.DISCARD_WITHOUT_MULTI)
    discard_transaction(client)
    return replies.OK


def discard_transaction(client: Client) -> None:
    """Drop the queue and the watched keys; no effect if there are none."""
    client.end_feature(Transaction)
    client.queued_bytes = 0
    client.gates &= ~GATE_MULTI
    client.instance.feature(Watchers).unwatch(client)


def exec_refused(client: Client, error: ReplyError) -> ReplyError:
    """Discard the transaction because EXEC itself was refused, e.g. for its arity; the reply."""
    discard_transaction(client)
    return error if isinstance(error, RoutingError) else errors.exec_refused(error.text)
