"""What a request needs: the keys that it touches, each with the rights for it, and the channels.

Both follow from declarations: the flags of the key specifications say what a command does with its
keys (COMMAND INFO shows them).
"""

from __future__ import annotations

from collections.abc import Sequence

from commands.acl.patterns import READ, WRITE
from commands.core.registry import Command

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
