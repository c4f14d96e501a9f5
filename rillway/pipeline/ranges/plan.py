"""Plans which IDs to read: the end of a batch under a limit, and slices of a range for tasks.

A range is cut once, and the cuts are stored (offsets.py): later cuts could differ after deletions
and trims. The server is never asked for more than a page of entries and bytes at once. If it has
XSPLIT (Rillway), slices have equal numbers of entries; otherwise they are cut by ID, that is, by
time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.ranges.pages import PageSize
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import (
    Connection,
    Reply,
    ReplyTooLong,
    ServerError,
    Word,
    pack,
)
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import format_id, parse_id

XSPLIT = "XSPLIT"
# Spark stores the cuts of a batch, so their number is limited.
MAX_SLICES = 1000
SAMPLED_ENTRIES = 10
EVERYTHING = 2**63 - 1
# The bytes of an entry on the wire besides its own: headers and line ends.
ENTRY_OVERHEAD_BYTES, WORD_OVERHEAD_BYTES = 30, 6


@dataclass(frozen=True, slots=True)
class Range:
    """The IDs of a stream after `after`, up to and including `end`."""

    stream: str
    after: int
    end: int

    def split(self, cuts: Sequence[int]) -> list[Range]:
        """Return the ranges between cuts; a cut is the first ID after it."""
        ends = [*(cut - 1 for cut in cuts), self.end]
        return [
            Range(self.stream, after, end)
            for after, end in zip([self.after, *ends[:-1]], ends, strict=True)
        ]

    def bounds(self) -> tuple[str, str]:
        """Return both bounds as a server takes them, included in the range."""
        return format_id(self.after + 1), format_id(self.end)


@dataclass(frozen=True, slots=True)
class Slice:
    """The work of one task: `first` existed when this was planned, `last` is only a bound.

    `entries`: the number of entries, if the server counted them.
    """

    stream: str
    first: int
    last: int
    entries: int | None = None


class Planner:
    """Plans for one server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._capabilities = Capabilities(connection)

    @property
    def counts(self) -> bool:
        """True if the server can count entries without sending them."""
        return self._capabilities.has_command(XSPLIT)

    def place(self, stream: str) -> object:
        """Return a value that is the same for all streams of one node."""
        return self._connection.place(stream)

    # -- slices -----------------------------------------------------------------------------------

    def slices(self, wanted: Range, *, estimate: int, every: int) -> list[Slice]:
        """Return slices with the entries of a range, in order; none if it is empty. See `cuts`."""
        cuts = self.cuts(wanted, estimate=estimate, every=every)
        return [found for found in self.found(wanted.split(cuts)) if found is not None]

    def cuts(
        self, wanted: Range, *, estimate: int, every: int, minimum: int = 1
    ) -> tuple[int, ...]:
        """Return where to cut a range: the first IDs of all slices but the first one.

        `estimate`: the approximate number of entries; `every`: the wanted entries of a slice;
        `minimum`: the least number of slices, if there are that many entries.
        """
        every = max(min(every, ceil(estimate / minimum)), ceil(estimate / MAX_SLICES), 1)
        if estimate <= every:
            return ()
        if self.counts:
            return tuple(first for first, _, _ in self._split(wanted, every)[1:])
        return self._cuts_by_id(wanted, ceil(estimate / every))

    def found(self, ranges: Sequence[Range]) -> list[Slice | None]:
        """Return the part of each range that exists now, or None, from one pipeline."""
        if self.counts:
            requests = [_split_request(wanted, EVERYTHING) for wanted in ranges]
        else:
            requests = [("XRANGE", each.stream, *each.bounds(), "COUNT", 1) for each in ranges]
        replies = self._replies(requests)
        return [_found(*pair) for pair in zip(ranges, replies, strict=True)]

    def _replies(self, requests: Sequence[Sequence[Word]]) -> list[Reply]:
        replies = self._connection.call_all(requests)
        for reply in replies:
            if isinstance(reply, ServerError):
                raise reply
        return replies

    def _split(
        self, wanted: Range, every: int, count: int | None = None
    ) -> list[tuple[int, int, int]]:
        reply = self._connection.call(*_split_request(wanted, every, count))
        return [(parse_id(first), parse_id(last), length) for first, last, length in reply]

    def _cuts_by_id(self, wanted: Range, number: int) -> tuple[int, ...]:
        """Return the first entries at or after IDs at equal distances."""
        first = self._first(wanted)
        if first is None:
            return ()
        step = (wanted.end - first) // number
        bound = format_id(wanted.end)
        replies = self._replies(
            [
                ("XRANGE", wanted.stream, format_id(first + step * place), bound, "COUNT", 1)
                for place in range(1, number)
            ]
        )
        return tuple(sorted({parse_id(reply[0][0]) for reply in replies if reply} - {first}))

    def _first(self, wanted: Range) -> int | None:
        found = self._connection.call("XRANGE", wanted.stream, *wanted.bounds(), "COUNT", 1)
        return parse_id(found[0][0]) if found else None

    # -- ends -------------------------------------------------------------------------------------

    def count(self, ranges: Sequence[Range]) -> list[int] | None:
        """Return the number of entries of each range; None if the server cannot count them."""
        if not self.counts:
            return None
        return [found.entries or 0 if found else 0 for found in self.found(ranges)]

    def reach(self, wanted: Range, *, estimate: int, entries: int) -> int:
        """Return the ID up to which a range has this number of entries, exact if the server counts.

        `estimate`: the approximate number in the whole range.
        """
        if entries >= estimate:
            return wanted.end
        if self.counts:
            return self.end_within(wanted.stream, wanted.after, wanted.end, entries, None)[0]
        first = self._first(wanted)
        return wanted.end if first is None else first + (wanted.end - first) * entries // estimate

    def end_within(
        self, stream: str, after: int, end: int, max_entries: int | None, max_bytes: int | None
    ) -> tuple[int, int]:
        """Return the last ID within the limits, and the number of entries up to it.

        At least one entry, if there is one and `max_entries` is not 0: an entry above `max_bytes`
        would block everything else. Bytes are counted as the server sends them.
        """
        if max_entries == 0:
            return after, 0
        if self.counts and max_bytes is None and max_entries is not None:
            runs = self._split(Range(stream, after, end), max_entries, max_entries)
            return (runs[-1][1], runs[-1][2]) if runs else (after, 0)
        with paused_collector():
            return self._page_until(stream, after, end, max_entries, max_bytes)

    def _page_until(
        self, stream: str, after: int, end: int, max_entries: int | None, max_bytes: int | None
    ) -> tuple[int, int]:
        last, counted, used_bytes = after, 0, 0
        size = PageSize()
        while max_entries is None or counted < max_entries:
            if max_entries is not None:
                size.count = min(size.count, max_entries - counted)
            left = size.count
            page = self._page(Range(stream, last, end), size)
            if page is None:
                continue
            if max_bytes is None:
                last, counted = parse_id(page[-1][0]) if page else last, counted + len(page)
            else:
                for entry_id, flat in page:
                    used_bytes += entry_bytes(flat)
                    if counted and used_bytes > max_bytes:
                        return last, counted
                    last, counted = parse_id(entry_id), counted + 1
            if len(page) < left:
                break
        return last, counted

    def sample_entry_bytes(self, wanted: Range) -> int:
        """Return the bytes of the largest of a range's first entries; 0 if there are none."""
        size = PageSize(SAMPLED_ENTRIES)
        while (page := self._page(wanted, size)) is None:
            pass
        return max((entry_bytes(flat) for _, flat in page), default=0)

    def _page(self, wanted: Range, size: PageSize) -> Reply | None:
        """Return the first page of a range; None, with `size` reduced, if it was too long."""
        link, began = self._connection.of(wanted.stream), time.monotonic()
        while True:
            before = link.received_bytes
            link.send(pack("XRANGE", wanted.stream, *wanted.bounds(), "COUNT", size.count))
            try:
                page = link.receive(size.max_bytes)
            except ReplyTooLong:
                link.reopen()
                size.shrink()
                return None
            except ServerError as error:
                link = self._connection.redirected(wanted.stream, error, began)
            else:
                size.seen(len(page), link.received_bytes - before)
                return page


def _split_request(wanted: Range, every: int, count: int | None = None) -> tuple[Word, ...]:
    limit: tuple[Word, ...] = () if count is None else ("COUNT", count)
    return (XSPLIT, wanted.stream, *wanted.bounds(), "EVERY", every, *limit)


def _found(wanted: Range, reply: Reply) -> Slice | None:
    """Return the slice in a reply to XSPLIT (one part with its count) or XRANGE; None if empty."""
    if not reply:
        return None
    first, _, length = reply[0] if len(reply[0]) == 3 else (reply[0][0], None, None)
    return Slice(wanted.stream, parse_id(first), wanted.end, length)


def entry_bytes(flat: list[bytes]) -> int:
    """Return the approximate bytes of an entry on the wire."""
    return ENTRY_OVERHEAD_BYTES + WORD_OVERHEAD_BYTES * len(flat) + sum(map(len, flat))


def backlog(after: int, n: int | None, facts: StreamFacts) -> int:
    """Return the approximate number of entries after a position; exact if `n` is known."""
    if facts.last_id <= after or not facts.length:
        return 0
    if n is not None and facts.entries_added >= n:
        return min(facts.entries_added - n, facts.length)
    if after < facts.first_id:
        return facts.length
    # Assumes a constant rate.
    span = facts.last_id - facts.first_id
    return max(facts.length * (facts.last_id - after) // span, 1) if span else 1


def shares(limit: int, backlogs: Mapping[str, int]) -> dict[str, int]:
    """Share a limit in proportion to what each stream has; the remainder goes by the fractions.

    The sum is at most `limit`, and each share at most what the stream has.
    """
    total = sum(backlogs.values())
    if total <= limit:
        return dict(backlogs)
    parts = {name: divmod(limit * size, total) for name, size in backlogs.items()}
    left = limit - sum(whole for whole, _ in parts.values())
    by_rest = sorted(parts, key=lambda name: (-parts[name][1], name))
    return {name: whole + (name in by_rest[:left]) for name, (whole, _) in parts.items()}
