"""Counts of an instance's content: keys by type, entries, groups, the largest streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import nlargest

from storage.keyspace.database import Database
from storage.stream import Stream

# How many of the largest streams are listed.
BIGGEST_STREAMS = 5

# The plural of each type's name, which is its field of DatabaseContents.
COUNTED_AS = {
    b"stream": "streams",
    b"string": "strings",
    b"list": "lists",
    b"set": "sets",
    b"zset": "sorted_sets",
    b"hash": "hashes",
}


@dataclass
class DatabaseContents:
    """Counts of one database that is not empty."""

    index: int
    keys: int = 0
    strings: int = 0
    streams: int = 0
    expiring: int = 0  # keys with a time to live
    expired: int = 0  # of these, past it
    entries: int = 0
    groups: int = 0
    consumers: int = 0
    pending: int = 0
    lists: int = 0
    sets: int = 0
    sorted_sets: int = 0
    hashes: int = 0


@dataclass
class BigStream:
    """One of the streams with the most entries."""

    database: int
    key: str
    entries: int
    groups: int
    pending: int


@dataclass
class Contents:
    """Counts of all databases."""

    databases: list[DatabaseContents] = field(default_factory=list)
    biggest_streams: list[BigStream] = field(default_factory=list)


def count_contents(databases: list[Database], now_ms: int) -> Contents:
    """Count everything. Looks at every key once."""
    contents = Contents([_count(db, now_ms) for db in databases if len(db)])
    streams = [
        (value.length, db.index, key, value)
        for db in databases
        for key, value in db.values.items()
        if isinstance(value, Stream)
    ]
    for length, index, key, stream in nlargest(BIGGEST_STREAMS, streams, key=lambda s: s[0]):
        pending = sum(len(group.pending) for group in stream.groups.values())
        contents.biggest_streams.append(
            BigStream(index, printable(key), length, len(stream.groups), pending)
        )
    return contents


def _count(db: Database, now_ms: int) -> DatabaseContents:
    counts = DatabaseContents(db.index, keys=len(db), expiring=len(db.expires))
    counts.expired = sum(db.is_expired(key, now_ms) for key in db.expires)
    for value in db.values.values():
        name = COUNTED_AS[value.type_name]
        setattr(counts, name, getattr(counts, name) + 1)
        if not isinstance(value, Stream):
            continue
        counts.entries += value.length
        counts.groups += len(value.groups)
        for group in value.groups.values():
            counts.consumers += len(group.consumers)
            counts.pending += len(group.pending)
    return counts


def printable(text: bytes) -> str:
    """A key as text: control bytes, and bytes that are not UTF-8, are escaped."""
    decoded = text.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in decoded)
