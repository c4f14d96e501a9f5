"""The base of the dispatcher: what scripts need of it for each of their commands, as C methods.

`Services` (services.py) has all that commands may ask of the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from commands.core.client import Client
    from commands.core.long_reply import LongReply
    from commands.core.registry import Command, Handler, Reply
    from protocol.request import Request
    from protocol.requests import Argv


@cython.cclass
class Runner:
    """Runs commands (server/requests/dispatch.py)."""

    def __init__(self, mark_ns: int) -> None:
        self.mark_ns = mark_ns  # when the last command ended, in ns of a monotonic clock

    def account(
        self, client: Client, command: Command, request: Request, handler: Handler | None
    ) -> Reply:
        """Call a handler, with statistics and propagation; a long reply is returned as it is."""
        raise NotImplementedError

    def join(self, client: Client, command: Command, request: Request, reply: LongReply) -> bytes:
        """The whole of a long reply; if it fails, its error."""
        raise NotImplementedError

    def run_with_pauses(self, client: Client, argv: Argv, work: Callable[[], Reply]) -> Reply:
        """The reply of `work`, which may pause; a Block if it has."""
        raise NotImplementedError
