"""MODULE LIST and HELP: there are no modules, and none can be loaded.

Clients ask for the list when they start. Loading is not offered: MODULE LOAD is an unknown
sub-command.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.documentation import help_reply
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command, container
from protocol import replies
from protocol.request import Request

container("MODULE")


@command("MODULE LIST", arity=2, flags=ADMIN | NOSCRIPT)
def module_list(client: Client, argv: Request) -> bytes:
    """An empty array, as of a Redis without modules. Source: Redis 7.0."""
    return replies.EMPTY_ARRAY


@command("MODULE HELP", arity=2, flags=LOADING | STALE)
def module_help(client: Client, argv: Request) -> bytes:
    """Array of simple strings. Source: Redis 7.0."""
    return help_reply(b"MODULE", b"LIST", b"    Return a list of loaded modules.")
