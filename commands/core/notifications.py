"""Keyspace event classes, and how `notify-keyspace-events` names them.

Which commands emit which event: as Redis 7.4, and the Redis documentation of keyspace
notifications. Emitting: `Client.notify`; publishing: `Instance.notify`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

KEYSPACE = 1 << 0  # K: __keyspace@<db>__:<key>
KEYEVENT = 1 << 1  # E: __keyevent@<db>__:<event>
GENERIC = 1 << 2  # g: DEL, EXPIRE, RENAME, ...
STRING = 1 << 3  # $
LIST = 1 << 4  # l
SET = 1 << 5  # s
HASH = 1 << 6  # h
SORTED_SET = 1 << 7  # z
EXPIRED = 1 << 8  # x
EVICTED = 1 << 9  # e
STREAM = 1 << 10  # t
KEY_MISS = 1 << 11  # m: not part of A
MODULE = 1 << 13  # d
NEW = 1 << 14  # n: not part of A
OVERWRITTEN = 1 << 15  # o: not part of A
TYPE_CHANGED = 1 << 16  # c: not part of A
# Channels that report the hash fields of an event (Redis 8.8); not part of A either.
SUBKEYSPACE = 1 << 17  # S: __subkeyspace@<db>__:<key>
SUBKEYEVENT = 1 << 18  # T: __subkeyevent@<db>__:<event>
SUBKEYSPACE_ITEM = 1 << 19  # I: __subkeyspaceitem@<db>__:<key>\n<field>
SUBKEYSPACE_EVENT = 1 << 20  # V: __subkeyspaceevent@<db>__:<event>|<key>
SUBKEYS = SUBKEYSPACE | SUBKEYEVENT | SUBKEYSPACE_ITEM | SUBKEYSPACE_EVENT

# Pairs of letter and class, in the order in which CONFIG GET prints the letters.
_LETTERS = (
    ("g", GENERIC), ("$", STRING), ("l", LIST), ("s", SET), ("h", HASH), ("z", SORTED_SET),
    ("x", EXPIRED), ("e", EVICTED), ("t", STREAM), ("d", MODULE),
)  # fmt: skip
_EXTRA = (
    ("K", KEYSPACE), ("E", KEYEVENT), ("m", KEY_MISS), ("n", NEW), ("o", OVERWRITTEN),
    ("c", TYPE_CHANGED), ("S", SUBKEYSPACE), ("T", SUBKEYEVENT), ("I", SUBKEYSPACE_ITEM),
    ("V", SUBKEYSPACE_EVENT),
)  # fmt: skip
ALL = sum(flag for _, flag in _LETTERS)  # A


def parse_classes(text: str) -> int | None:
    """The flags for a directive's letters, None if one is unknown."""
    known = dict(_LETTERS + _EXTRA) | {"A": ALL}
    flags = 0
    for letter in text:
        if letter not in known:
            return None
        flags |= known[letter]
    return flags


def format_classes(flags: int) -> str:
    """The letters for flags, as CONFIG GET answers."""
    text = "A" if flags & ALL == ALL else "".join(c for c, flag in _LETTERS if flags & flag)
    return text + "".join(c for c, flag in _EXTRA if flags & flag)


def subkey_messages(
    enabled: int, event: bytes, key: bytes, fields: Sequence[bytes], db_index: int
) -> Iterator[tuple[bytes, bytes]]:
    """(channel, message) of each subkey event, by those of the four classes that are enabled.

    Ambiguous names are left out: events with a bar, keys with a line break.
    """
    listed = b",".join([b"%d:%b" % (len(field), field) for field in fields])
    if enabled & SUBKEYSPACE and b"|" not in event:
        yield b"__subkeyspace@%d__:%b" % (db_index, key), b"%b|%b" % (event, listed)
    if enabled & SUBKEYEVENT:
        message = b"%d:%b|%b" % (len(key), key, listed)
        yield b"__subkeyevent@%d__:%b" % (db_index, event), message
    if enabled & SUBKEYSPACE_ITEM and b"\n" not in key:
        for field in fields:
            yield b"__subkeyspaceitem@%d__:%b\n%b" % (db_index, key, field), event
    if enabled & SUBKEYSPACE_EVENT and b"|" not in event:
        yield b"__subkeyspaceevent@%d__:%b|%b" % (db_index, event, key), listed
