"""Sends dead letters back: each is added to its stream again and deleted, atomically.

It takes along `rillway-hops`, the number of times that it was a dead letter.

A script does both, so a redrive that is killed has done both or neither, and concurrent redrives
send each dead letter once. All groups of the stream receive the new entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rillway.dead_letter import GROUP, STREAM, returning_fields
from rillway.pipeline.wire.connection import Connection, Reply
from rillway.pipeline.wire.ids import format_id, parse_id

PAGE_ENTRIES = 100

# KEYS: the dead letters, the stream. ARGV: the dead letter's ID, the fields. XADD comes first: if
# it fails, the script ends and nothing is deleted.
SEND = """
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 2))
return redis.call('XDEL', KEYS[1], ARGV[1])
"""


def redrive(
    connection: Connection, dead: str, stream: str, groups: Collection[str] = ()
) -> Iterator[int]:
    """Send the dead letters in `dead` that came from `stream` back to it, in order.

    With `groups`, only theirs. Yields the number of entries that each step has sent; stopping
    between two steps is safe. Entries without fields of their own stay, because no stream accepts
    them. Entries added meanwhile are ignored. Raises ServerError, for example if `stream` is not a
    stream.
    """
    names = {group.encode() for group in groups}
    last = connection.call("XREVRANGE", dead, "+", "-", "COUNT", 1)
    if not last:
        return
    start, end = "-", last[0][0].decode()
    while entries := connection.call("XRANGE", dead, start, end, "COUNT", PAGE_ENTRIES):
        yield sum(_send(connection, dead, stream, entry, names) for entry in entries)
        if entries[-1][0].decode() == end:
            return
        start = format_id(parse_id(entries[-1][0]) + 1)


def redrive_entry(connection: Connection, dead: str, stream: str, entry_id: str) -> bool:
    """Send one dead letter back; return False if it does not exist. Raises ServerError."""
    entries = connection.call("XRANGE", dead, entry_id, entry_id)
    return bool(entries) and _send(connection, dead, stream, entries[0], set()) == 1


def _send(
    connection: Connection, dead: str, stream: str, entry: Reply, groups: Collection[bytes]
) -> int:
    """Send an entry back if it came from the stream and a given group; return 0 or 1."""
    entry_id, flat = entry
    origin = dict(zip(flat[::2], flat[1::2], strict=True))
    is_wanted = not groups or origin.get(GROUP) in groups
    fields = returning_fields(flat)
    if origin.get(STREAM) != stream.encode() or not is_wanted or not fields:
        return 0
    return int(connection.call("EVAL", SEND, 2, dead, stream, entry_id, *fields))
