"""Entries of a stream, page by page, each page from an ID on, never by an offset.

Replies are bounded: a page begins with a few entries, and the larger they are, the fewer the next
request asks for. A search pauses after each request, to take a small share of the server's time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rillway.console.data.link import Link, Reply, Word

PAGE_ENTRIES, MAX_PAGE_ENTRIES = 100, 500
FIRST_COUNT, MAX_COUNT = 8, 500
REPLY_BYTES = 1 << 20
PAGE_BYTES = 8 << 20
SCANNED_ENTRIES = 10_000
SEARCH_SECONDS = 2.0
PAUSE_FACTOR = 99
MAX_PAUSE_SECONDS = 0.2

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    fields: list[tuple[bytes, bytes]]

    def holds(self, wanted: str) -> bool:
        """Return True if a name or a value contains `wanted`, which is in lower case."""
        words = (word for pair in self.fields for word in pair)
        return any(wanted in word.decode(errors="replace").lower() for word in words)


@dataclass(frozen=True, slots=True)
class Query:
    """The entries wanted, the newest first, or, with `after`, the oldest first.

    `first`, `last`, `before`, `after` are IDs as the server takes them; the latter two are not
    included themselves. `find` is a text that a name or value must contain.
    """

    first: str = "-"
    last: str = "+"
    before: str | None = None
    after: str | None = None
    find: str = ""
    limit: int = PAGE_ENTRIES


@dataclass(frozen=True, slots=True)
class Page:
    """A page. `next`: the ID to continue from, by `before` or `after`; None at the end."""

    entries: list[Entry]
    next: str | None
    scanned: int


def parse_entry(reply: Reply) -> Entry:
    entry_id, flat = reply
    return Entry(entry_id.decode(), list(zip(flat[::2], flat[1::2], strict=True)))


def size_of(entry: Entry) -> int:
    return sum(len(name) + len(value) for name, value in entry.fields)


async def read_page(
    link: Link, db: int, key: bytes, query: Query, sleep: Sleep = asyncio.sleep
) -> Page:
    """Read a page. Raises redis.RedisError."""
    wanted = query.find.lower()
    found: list[Entry] = []
    scanned, held_bytes, count = 0, 0, min(FIRST_COUNT, query.limit)
    position = query.after if query.after is not None else query.before
    started = time.monotonic()
    while True:
        began = time.monotonic()
        batch = [
            parse_entry(one) for one in await link.call(db, *request(key, query, position, count))
        ]
        took = time.monotonic() - began
        scanned += len(batch)
        for number, entry in enumerate(batch):
            if wanted and not entry.holds(wanted):
                continue
            found.append(entry)
            held_bytes += size_of(entry)
            if len(found) == query.limit:
                is_end = number + 1 == len(batch) < count
                return Page(found, None if is_end else entry.id, scanned)
        if len(batch) < count:
            return Page(found, None, scanned)
        position = batch[-1].id
        is_enough = scanned >= SCANNED_ENTRIES or held_bytes > PAGE_BYTES
        if is_enough or time.monotonic() - started > SEARCH_SECONDS:
            return Page(found, position, scanned)
        count = next_count(count, batch)
        if wanted:
            await sleep(min(PAUSE_FACTOR * took, MAX_PAUSE_SECONDS))
        else:
            count = min(count, query.limit - len(found))


def request(key: bytes, query: Query, position: str | None, count: int) -> tuple[Word, ...]:
    """Return the request for the next range: from after `position`, or from the beginning."""
    if query.after is not None:
        return ("XRANGE", key, f"({position}", query.last, "COUNT", count)
    start = query.last if position is None else f"({position}"
    return ("XREVRANGE", key, start, query.first, "COUNT", count)


def next_count(count: int, batch: list[Entry]) -> int:
    """Return how many entries like these fill a reply."""
    average = max(sum(map(size_of, batch)) // len(batch), 1)
    return max(min(count * 4, REPLY_BYTES // average, MAX_COUNT), 1)
