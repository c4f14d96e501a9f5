"""Which keys the requests of a tracking client read: they go into the invalidation table."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import PUBSUB, READONLY, Command
from commands.transactions.transaction import Transaction
from protocol.request import Request

# As in Redis 7.2 and later, not their declared keys are tracked, but what their commands read.
_SCRIPTS = frozenset({b"eval_ro", b"evalsha_ro", b"fcall_ro"})


def command_ran(client: Client, command: Command, request: Request, *, is_over: bool) -> None:
    """Called after every command of a tracking client, those inside EXEC included.

    `is_over`: it does not block. A script reads nothing itself, only its commands do.
    """
    if client.tracking is None:
        return
    if command.flags & READONLY and command.fullname not in _SCRIPTS:
        remember_request(client, command, request)
    # CLIENT CACHING is for one request, or for one transaction as a whole.
    is_alone = client.feature_if_used(Transaction) is None
    if is_over and is_alone and not command.fullname.startswith(b"client|"):
        client.tracking.caching = False


def remember_request(client: Client, command: Command, request: Request) -> None:
    """`client` read the keys of this request."""
    if not command.flags & PUBSUB:  # whose keys are shard channels
        words = request.words()
        keys = [words[i] for i in command.key_positions(words)]
        client.instance.tracking.remember_keys(client, keys)
