"""FCALL and FCALL_RO: functions of libraries."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import MAY_REPLICATE, READONLY, Reply, command
from commands.scripting.evaluation import (
    COMMON_FLAGS,
    MAY_WRITE_KEYS,
    READ_KEYS,
    first_slot,
    refuse_at_start,
    show,
    split_arguments,
)
from commands.scripting.running_script import running_script
from commands.scripting.scripting_state import Scripting
from protocol.errors import ReplyError
from protocol.request import Request

_BAD_NUMBER = b"ERR Bad number of keys provided"


@command("FCALL", arity=-3, flags=COMMON_FLAGS | MAY_REPLICATE, keys=MAY_WRITE_KEYS)
def fcall(client: Client, argv: Request) -> Reply:
    """The result of the function."""
    return _call(client, argv, is_read_only=False)


@command("FCALL_RO", arity=-3, flags=COMMON_FLAGS | READONLY, keys=READ_KEYS)
def fcall_ro(client: Client, argv: Request) -> Reply:
    """The result of the function, which must have the flag no-writes."""
    return _call(client, argv, is_read_only=True)


def _call(client: Client, argv: Request, *, is_read_only: bool) -> Reply:
    show(client, argv)
    scripting = client.instance.feature(Scripting)
    registered = scripting.libraries.find(argv[1])
    if registered is None:
        raise ReplyError(b"ERR Function not found")
    keys, rest = split_arguments(argv, not_a_number=_BAD_NUMBER)
    refuse_at_start(client.instance, registered.flags, is_read_only=is_read_only)
    is_read_only = is_read_only or b"no-writes" in registered.flags
    running = running_script(client, registered.name, argv.words(), True, is_read_only)
    running.allows_growth = b"allow-oom" in registered.flags
    running.slot = first_slot(client.instance, registered.flags, keys)
    assert registered.callback is not None
    return scripting.run(running, scripting.libraries.interpreter, registered.callback, keys, rest)
