"""TIME: the server's clock."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import FAST, LOADING, STALE, command
from protocol import replies
from protocol.request import Request


@command("TIME", arity=1, flags=LOADING | STALE | FAST)
def time(client: Client, argv: Request) -> bytes:
    """Unix seconds and the microseconds of the second, as two strings."""
    seconds, microseconds = divmod(client.instance.host.clock_us(), 1_000_000)
    return replies.bulk_array([b"%d" % seconds, b"%d" % microseconds])
