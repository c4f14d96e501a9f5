"""Which keys the requests of a tracking client read: they go into the invalidation table."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import PUBSUB, READONLY, Command
from protocol.requests import Argv

# As in Redis 7.2 and later, not their declared keys are tracked, but what their commands read.
_SCRIPTS = frozenset({b"eval_ro", b"evalsha_ro", b"fcall_ro"})


def command_ran(client: Client, command: Command, argv: Argv, *, is_over: bool) -> None:
    """Called after every command of a tracking client, those inside EXEC included.

    `is_over`: it does not block. A script reads nothing itself, only its commands do.
    """
    if client.tracking is None:
        return
    if command.flags & READONLY and command.fullname not in _SCRIPTS:
        remember_request(client, command, argv)
    # CLIENT CACHING is for one request, or for one transaction as a whole.
    if is_over and client.queue is None and not command.fullname.startswith(b"client|"):
        client.tracking.caching = False


def remember_request(client: Client, command: Command, argv: Argv) -> None:
    """`client` read the keys of this request."""
    if not command.flags & PUBSUB:  # whose keys are shard channels
        keys = [argv[i] for i in command.key_positions(argv)]
        client.instance.tracking.remember_keys(client, keys)
