"""COMMAND GETKEYS, COMMAND GETKEYSANDFLAGS: the keys in a request that is not run."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import (
    LOADING,
    NO_MANDATORY_KEYS,
    STALE,
    CommandTable,
    KeySpec,
    command,
)
from commands.server.command.table import shown_key_flag, status_set
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv

_NOT_A_KEY = b"not_key"  # a place that is routed like a key: the channel of SPUBLISH


@command("COMMAND GETKEYS", arity=-3, flags=LOADING | STALE)
def command_getkeys(client: Client, argv: Request) -> bytes:
    """An array of keys, in the order of the key specifications."""
    request = argv[2:]
    return replies.bulk_array([request[position] for position, _ in _keys(client, request)])


@command("COMMAND GETKEYSANDFLAGS", arity=-3, flags=LOADING | STALE)
def command_getkeysandflags(client: Client, argv: Request) -> bytes:
    """An array of pairs: key, set of flags."""
    request = argv[2:]
    return replies.array(
        [
            replies.array([replies.bulk(request[position]), status_set(flags, client.resp)])
            for position, flags in _keys(client, request)
        ]
    )


def _keys(client: Client, request: Argv) -> list[tuple[int, list[bytes]]]:
    """Positions of the keys with their flags. Raises ReplyError."""
    declared = client.instance.feature(CommandTable).find(request)
    if declared is None:
        raise ReplyError(b"ERR Invalid command specified")
    specs = [spec for spec in declared.keys if _NOT_A_KEY not in _shown(spec)]
    if not specs:
        raise ReplyError(b"ERR The command has no key arguments")
    if not declared.accepts(len(request)):
        raise ReplyError(b"ERR Invalid number of arguments specified for command")
    found = [
        (position, _flags(spec, request)) for spec in specs for position in spec.positions(request)
    ]
    if not found and not declared.flags & NO_MANDATORY_KEYS:
        raise ReplyError(b"ERR Invalid arguments specified for command")
    return found


def _flags(spec: KeySpec, request: Argv) -> list[bytes]:
    """Return the flags of the request's keys, which may depend on its options."""
    return [shown_key_flag(flag) for flag in spec.flags_in(request)]


def _shown(spec: KeySpec) -> list[bytes]:
    return [shown_key_flag(flag) for flag in spec.flags]
