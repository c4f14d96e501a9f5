"""Checks whether a user may run a request; the texts of refusals.

What a request needs follows from declarations: the flags of the key specifications say what a
command does with its keys (COMMAND INFO shows them). One selector of the user must allow the
command, all its keys and all its channels. What is refused is logged and counted. Callers ask only
for clients with GATE_RESTRICTED: a user who may do everything is not looked up.

Source: Redis 8.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from commands.acl.access_control import AccessControl, context_of
from commands.acl.log import AccessLog
from commands.acl.selectors import READ, WRITE, Selector
from commands.acl.users import User
from commands.connection.client_list import describe_client
from commands.core.client import Client
from commands.core.registry import NO_AUTH, Command, CommandTable
from protocol.errors import ReplyError

_RIGHTS = {b"ACCESS": READ, b"INSERT": WRITE, b"UPDATE": WRITE, b"DELETE": WRITE}
# The first channel, and the number of channels; None: all that follow.
_CHANNELS: dict[bytes, tuple[int, int | None]] = {
    b"publish": (1, 1),
    b"spublish": (1, 1),
    b"subscribe": (1, None),
    b"ssubscribe": (1, None),
    b"psubscribe": (1, None),
}


def keys_of(command: Command, argv: Sequence[bytes]) -> list[tuple[int, int]]:
    """Positions of the keys with the rights that each needs: READ, WRITE, both, or 0 for any."""
    found: list[tuple[int, int]] = []
    for spec in command.keys:
        if any(flag.upper() == b"NOT_KEY" for flag in spec.flags):
            continue  # a channel, which is routed like a key
        rights = 0
        for flag in spec.flags_in(argv):
            rights |= _RIGHTS.get(flag.upper(), 0)
        found += [(position, rights) for position in spec.positions(argv)]
    return found


def channels_of(command: Command, argv: Sequence[bytes]) -> range:
    """Positions of the channels that are published or subscribed to."""
    place = _CHANNELS.get(command.fullname)
    if place is None:
        return range(0)
    first, count = place
    return range(first, len(argv) if count is None else first + count)


def names_patterns(command: Command) -> bool:
    """Return True if the channels are patterns."""
    return command.fullname == b"psubscribe"


# What is refused; of several refusals the greatest is reported.
COMMAND, KEY, CHANNEL = 0, 1, 2
# With the position of the key or channel among the words; of two, the one further to the right.
Denial: TypeAlias = tuple[int, int]

_REASONS = {COMMAND: b"command", KEY: b"key", CHANNEL: b"channel"}
_KEY_DENIED = b"No permissions to access a key"
DENIED_IN_SCRIPT = b"ERR ACL failure in script: "  # the beginning of that refusal
_CHANNEL_DENIED = b"No permissions to access a channel"
_CHANGED = (
    b"NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC"
    b" call. This command is no longer allowed for the following reason: %b"
)
_CHANGED_REASONS = {
    COMMAND: b"no permission to execute the command or subcommand",
    KEY: b"no permission to touch the specified keys",
    CHANNEL: b"no permission to access one of the channels used as arguments",
}


def denial(user: User, command: Command, argv: Sequence[bytes]) -> Denial | None:
    """Why a user may not run a request; None if it may."""
    worst: Denial = (COMMAND, 0)
    for selector in user.selectors:
        found = _denial_by(selector, command, argv)
        if found is None:
            return None
        worst = max(worst, found)
    return worst


def _denial_by(selector: Selector, command: Command, argv: Sequence[bytes]) -> Denial | None:
    if not command.flags & NO_AUTH:
        place = 1 if command.parent is None else 2
        first_argument = argv[place] if place < len(argv) else b""
        if not selector.commands.allow(command, first_argument):
            return COMMAND, 0
    if command.keys and not selector.keys.covers_all:
        for position, rights in keys_of(command, argv):
            if not selector.keys.allow(argv[position], rights):
                return KEY, position
    if not selector.channels.covers_all:
        is_pattern = names_patterns(command)
        for position in channels_of(command, argv):
            if not selector.channels.allow(argv[position], is_pattern=is_pattern):
                return CHANNEL, position
    return None


def refusal(client: Client, command: Command, argv: Sequence[bytes]) -> ReplyError | None:
    """The error for a request that the client's user may not run; it is logged and counted."""
    found = denial(client.instance.feature(AccessControl).user_of(client), command, argv)
    if found is None:
        return None
    _note(client, client, found, command, argv, context_of(client))
    return ReplyError(b"NOPERM " + _text(client.user, found, command))


def refusal_in_exec(client: Client, command: Command, argv: Sequence[bytes]) -> ReplyError | None:
    """`refusal` of a queued request, which was allowed when it was queued."""
    found = denial(client.instance.feature(AccessControl).user_of(client), command, argv)
    if found is None:
        return None
    _note(client, client, found, command, argv, b"multi")
    return ReplyError(_CHANGED % _CHANGED_REASONS[found[0]])


def refusal_in_script(
    client: Client, caller: Client, command: Command, argv: Sequence[bytes]
) -> bytes | None:
    """`refusal` of what a script of `caller` calls; the error's text, with its code."""
    found = denial(client.instance.feature(AccessControl).user_of(client), command, argv)
    if found is None:
        return None
    _note(client, caller, found, command, argv, b"lua")
    return DENIED_IN_SCRIPT + _text(client.user, found, command)


def _text(username: bytes, found: Denial, command: Command) -> bytes:
    """The refusal without names of keys and channels, which may be secrets."""
    what = found[0]
    if what == COMMAND:
        return command_denied(username, command)
    return _KEY_DENIED if what == KEY else _CHANNEL_DENIED


def command_denied(username: bytes, command: Command) -> bytes:
    """The text for a command that a user may not run."""
    return b"User %b has no permissions to run the '%b' command" % (username, command.fullname)


def verbose_text(username: bytes, found: Denial, command: Command, argv: Sequence[bytes]) -> bytes:
    """The refusal with the name of the key or channel: ACL DRYRUN."""
    what, position = found
    if what == COMMAND:
        return command_denied(username, command)
    return b"User %b has no permissions to access the '%b' %b" % (
        username,
        argv[position],
        _REASONS[what],
    )


def _note(
    client: Client,
    caller: Client,
    found: Denial,
    command: Command,
    argv: Sequence[bytes],
    context: bytes,
) -> None:
    """Count a refusal and log it. `caller` is the client whose request runs `client`'s."""
    what, position = found
    instance = client.instance
    stats = instance.stats
    if what == COMMAND:
        stats.acl_access_denied_cmd += 1
    elif what == KEY:
        stats.acl_access_denied_key += 1
    else:
        stats.acl_access_denied_channel += 1
    subject = command.fullname if what == COMMAND else argv[position]
    info = describe_client(caller)
    instance.feature(AccessLog).add(
        _REASONS[what], context, subject, client.user, info, instance.now_ms
    )


def may_read_all_keys(client: Client, argv: list[bytes]) -> bool:
    """Return True if one selector allows the request, and every key to be read.

    SORT asks, because BY and GET read keys that the request does not name.
    """
    user = client.instance.feature(AccessControl).user_of(client)
    command = client.instance.feature(CommandTable).find(argv)
    assert command is not None
    return any(
        selector.keys.allow_all(READ) and _denial_by(selector, command, argv) is None
        for selector in user.selectors
    )
