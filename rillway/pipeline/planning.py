"""Which IDs to read: the end of a batch under a limit, and slices of a range for several tasks.

A plan is a function of the range and of what the stream holds, so that a batch which is run again
is cut in the same way. The server is never asked for more than a page at once. Where it has XSPLIT
(Rillway), slices hold equally many entries; else they are cut by ID, which is by time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from rillway.pipeline.capabilities import Capabilities
from rillway.pipeline.connection import Connection
from rillway.pipeline.facts import StreamFacts
from rillway.pipeline.ids import format_id, parse_id

XSPLIT = "XSPLIT"
PAGE_SIZE = 1000
# What an entry costs on the wire besides its own bytes: headers and line ends of its parts.
ENTRY_OVERHEAD_BYTES, WORD_OVERHEAD_BYTES = 30, 6


@dataclass(frozen=True, slots=True)
class Slice:
    """What one task reads: `first` was there when this was planned, `last` is only a bound.

    `entries`: how many there were, where the server counted them.
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
        """Whether the server can count entries without sending them."""
        return self._capabilities.has_command(XSPLIT)

    # -- slices -----------------------------------------------------------------------------------

    def slices(
        self, stream: str, after: int, end: int, *, estimate: int, every: int, minimum: int = 1
    ) -> list[Slice]:
        """The entries after `after` up to `end`, in order; none if there are none.

        `estimate`: about how many there are; `every`: how many a slice is to hold; `minimum`: how
        many slices there are to be at least, if there are so many entries.
        """
        every = max(min(every, ceil(estimate / minimum)), 1)
        if self.counts:
            return [Slice(stream, *run) for run in self._split(stream, after, end, every)]
        wanted = max(ceil(estimate / every), 1)
        first = self._first(stream, after + 1, end)
        if first is None:
            return []
        return self._cut_by_id(stream, first, end, wanted)

    def _split(
        self, stream: str, after: int, end: int, every: int, count: int | None = None
    ) -> list[tuple[int, int, int]]:
        bounds = format_id(after + 1), format_id(end)
        limit: list[str | int] = [] if count is None else ["COUNT", count]
        reply = self._connection.call(XSPLIT, stream, *bounds, "EVERY", every, *limit)
        return [(parse_id(first), parse_id(last), length) for first, last, length in reply]

    def _cut_by_id(self, stream: str, first: int, end: int, wanted: int) -> list[Slice]:
        """IDs at equal distances, and the entries that come next to them."""
        step = (end - first) // wanted
        guesses = [first + step * number for number in range(1, wanted)]
        bound = format_id(end)
        replies = self._connection.call_all(
            [("XRANGE", stream, format_id(guess), bound, "COUNT", 1) for guess in guesses]
        )
        found = {parse_id(reply[0][0]) for reply in replies if reply}
        cuts = sorted(found | {first})
        return [
            Slice(stream, cut, (following - 1) if following else end)
            for cut, following in zip(cuts, [*cuts[1:], 0], strict=True)
        ]

    def _first(self, stream: str, start: int, end: int) -> int | None:
        bounds = format_id(start), format_id(end)
        found = self._connection.call("XRANGE", stream, *bounds, "COUNT", 1)
        return parse_id(found[0][0]) if found else None

    # -- ends -------------------------------------------------------------------------------------

    def count(self, stream: str, after: int, end: int) -> int | None:
        """How many entries there are; None if the server cannot say without sending them."""
        if not self.counts:
            return None
        runs = self._split(stream, after, end, every=2**63 - 1)
        return sum(length for _, _, length in runs)

    def end_within(
        self, stream: str, after: int, end: int, max_entries: int | None, max_bytes: int | None
    ) -> tuple[int, int]:
        """How far one may read without passing a limit, and how many entries that is.

        At least one entry, if there is one and `max_entries` is not 0: an entry above `max_bytes`
        would hold up everything else. Bytes are those that the server sends.
        """
        if max_entries == 0:
            return after, 0
        if self.counts and max_bytes is None and max_entries is not None:
            runs = self._split(stream, after, end, max_entries, max_entries)
            return (runs[-1][1], runs[-1][2]) if runs else (after, 0)
        return self._page_until(stream, after, end, max_entries, max_bytes)

    def _page_until(
        self, stream: str, after: int, end: int, max_entries: int | None, max_bytes: int | None
    ) -> tuple[int, int]:
        last, counted, used_bytes = after, 0, 0
        while max_entries is None or counted < max_entries:
            left = PAGE_SIZE if max_entries is None else min(PAGE_SIZE, max_entries - counted)
            bounds = format_id(last + 1), format_id(end)
            page = self._connection.call("XRANGE", stream, *bounds, "COUNT", left)
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


def entry_bytes(flat: list[bytes]) -> int:
    """About how many bytes an entry takes on the wire."""
    return ENTRY_OVERHEAD_BYTES + WORD_OVERHEAD_BYTES * len(flat) + sum(map(len, flat))


def backlog(after: int, n: int | None, facts: StreamFacts) -> int:
    """About how many entries a stream has after a position; exact where `n` is known."""
    if facts.last_id <= after or not facts.length:
        return 0
    if n is not None and facts.entries_added >= n:
        return min(facts.entries_added - n, facts.length)
    if after < facts.first_id:
        return facts.length
    # As if they had come at one rate.
    span = facts.last_id - facts.first_id
    return max(facts.length * (facts.last_id - after) // span, 1) if span else 1


def shares(limit: int, backlogs: Mapping[str, int]) -> dict[str, int]:
    """A limit shared in proportion to what each stream has; what is left goes by the rests.

    Never more than `limit` in all, and for no stream more than it has.
    """
    total = sum(backlogs.values())
    if total <= limit:
        return dict(backlogs)
    parts = {name: divmod(limit * size, total) for name, size in backlogs.items()}
    left = limit - sum(whole for whole, _ in parts.values())
    by_rest = sorted(parts, key=lambda name: (-parts[name][1], name))
    return {name: whole + (name in by_rest[:left]) for name, (whole, _) in parts.items()}
