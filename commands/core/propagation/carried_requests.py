"""Requests that only Rillway knows, propagated inside an ECHO (storage/append_only/carriers.py).

Handlers propagate them with `propagate_carried`. Each comes back as an ECHO, from the append-only
file or from a primary (`client.replays`), and `carried` finds the command in it.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.command_table import CommandTable
from commands.core.registry import WRITE, Command
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from storage.append_only.carriers import UnknownCarrier, unwrap, wrap


def propagate_carried(client: Client, *request: bytes) -> None:
    """`Client.propagate` for a request that no version of Redis knows."""
    if client.instance.propagation.sinks:
        client.propagate(*wrap(request))


def carried(client: Client, argv: Request) -> tuple[Command, Argv] | None:
    """The command that an ECHO carries; None for an ordinary ECHO.

    Raises ReplyError for a carried request that this version does not know.
    """
    try:
        request = unwrap(argv.words())
    except UnknownCarrier as error:
        raise ReplyError(b"ERR " + str(error).encode()) from None
    if request is None:
        return None
    command = client.instance.feature(CommandTable).find_replayed(request)
    if command is None or not command.flags & WRITE or not command.accepts(len(request)):
        raise ReplyError(b"ERR Rillway's own state is unknown here: '%b'" % request[0][:128])
    return command, request
