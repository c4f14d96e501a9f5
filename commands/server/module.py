"""MODULE LIST and HELP: there are no modules, and none can be loaded.

Clients ask for the list when they start. Loading is not offered: MODULE LOAD is an unknown
sub-command.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.help import help_reply
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, Argv, command, container
from protocol import replies

container("MODULE", group="server", since="4.0.0", summary="Shows the loaded modules.")


@command(
    "MODULE LIST",
    arity=2,
    flags=ADMIN | NOSCRIPT,
    group="server",
    since="4.0.0",
    summary="Lists the loaded modules.",
    complexity="O(N) where N is the number of loaded modules.",
    tips=(b"nondeterministic_output_order",),
)
def module_list(client: Client, argv: Argv) -> bytes:
    """An empty array, as of a Redis without modules. Source: Redis 7.0."""
    return replies.EMPTY_ARRAY


@command(
    "MODULE HELP",
    arity=2,
    flags=LOADING | STALE,
    group="server",
    since="5.0.0",
    summary="Lists the sub-commands of MODULE.",
)
def module_help(client: Client, argv: Argv) -> bytes:
    """Array of simple strings. Source: Redis 7.0."""
    return help_reply(b"MODULE", b"LIST", b"    Return a list of loaded modules.")
