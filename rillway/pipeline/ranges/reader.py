"""Reading a range of a stream, page by page: complete, or known not to be.

The next page is requested before the current one is returned, so the server works while the
caller does. Each page begins with the last entry of the one before: as long as that is there, no
trim has come between the two.

Leaves out: deciding what to read (plan.py). No Spark here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rillway.pipeline.arrow.decoder import Decoder, RawEntry, fields_decoder, map_decoder
from rillway.pipeline.arrow.schema import FIELDS_MODE, MAP_MODE
from rillway.pipeline.client.connection import Connection, ReplyTooLong, ServerError, pack
from rillway.pipeline.client.facts import read_facts
from rillway.pipeline.client.ids import format_id, parse_id
from rillway.pipeline.ranges.loss import LossPolicy
from rillway.pipeline.ranges.pages import PAGE_SIZE, PageSize
from rillway.pipeline.ranges.plan import Slice, entry_bytes

BATCH_ROWS = 10_000
BATCH_BYTES = 32 << 20

MODE_DECODERS = {FIELDS_MODE: fields_decoder, MAP_MODE: map_decoder}


@dataclass(slots=True)
class SliceReader:
    """Reads a slice once. `entries` counts what it has handed out.

    `page_bytes`: about how many bytes the page has that was handed out last; `repeats`: requests
    that were repeated.
    """

    connection: Connection
    slice: Slice
    policy: LossPolicy
    page_size: int = PAGE_SIZE
    entries: int = 0
    page_bytes: int = 0
    received_bytes: int = 0
    repeats: int = 0
    # IDs that were there and are not any more, where a page was to begin.
    gaps: list[int] = field(default_factory=list)

    def pages(self) -> Iterator[list[RawEntry]]:
        """The entries in order. Raises DataLost at the end if some were trimmed meanwhile."""
        size = PageSize(self.page_size)
        expected = self.slice.first
        node, began = self.connection.of(self.slice.stream), time.monotonic()
        asked_for = self._request(node, expected, size.count)
        while asked_for:
            before = node.received_bytes
            try:
                page = node.receive(size.max_bytes)
            except ReplyTooLong:
                node.reopen()
                size.shrink()
                self.repeats += 1
                asked_for = self._request(node, expected, size.count + (1 if self.entries else 0))
                continue
            except ServerError as error:
                node = self.connection.redirected(self.slice.stream, error, began)
                self.repeats += 1
                asked_for = self._request(node, expected, asked_for)
                continue
            began = time.monotonic()
            self.page_bytes = node.received_bytes - before
            self.received_bytes += self.page_bytes
            has_more = len(page) == asked_for
            size.seen(len(page), self.page_bytes)
            if not page or parse_id(page[0][0]) != expected:
                self.gaps.append(expected)
            elif self.entries:
                del page[0]  # the page before had it
            asked_for = 0
            if has_more:
                expected = parse_id(page[-1][0])
                # The last one once more, and as many after it.
                asked_for = self._request(node, expected, size.count + 1)
            self.entries += len(page)
            if page:
                yield page
        self._check()

    def _request(self, node: Connection, start: int, count: int) -> int:
        bounds = format_id(start), format_id(self.slice.last)
        node.send(pack("XRANGE", self.slice.stream, *bounds, "COUNT", count))
        return count

    def batches(
        self, decode: Decoder, rows: int = BATCH_ROWS, max_bytes: int = BATCH_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """Pages put together to batches of at least `rows` or half of `max_bytes`.

        A batch has about `max_bytes` at most, or one entry. Raises DataLost at the end.
        """
        held: list[RawEntry] = []
        held_bytes = 0
        for page in self.pages():
            held += page
            held_bytes += self.page_bytes
            if len(held) >= rows or held_bytes >= max_bytes // 2:
                yield from _decoded(decode, held, held_bytes, max_bytes)
                held, held_bytes = [], 0
        if held:
            yield from _decoded(decode, held, held_bytes, max_bytes)

    def _check(self) -> None:
        planned = self.slice.entries
        missing = None if planned is None else planned - self.entries
        if not self.gaps and not missing:
            return
        facts = read_facts(self.connection, self.slice.stream)
        bounds = f"from {format_id(self.slice.first)} to {format_id(self.slice.last)}"
        some = "some" if missing is None else f"{missing:,} of {planned:,}"
        text = f"{self.slice.stream}: {some} entries {bounds}"
        # Trims take the first entries; XDEL says up to where it has taken some.
        if self.gaps and facts.max_deleted_id < self.gaps[-1]:
            now = f"begins at {format_id(facts.first_id)}" if facts.length else "is empty"
            self.policy.lost(f"{text} were trimmed before they were read; the stream {now} now")
        elif self.gaps or missing:
            self.policy.unclear(f"{text} were deleted or trimmed while they were read")


def _decoded(
    decode: Decoder, entries: list[RawEntry], size_bytes: int, max_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Yield the entries as one batch, or as several if they have more than `max_bytes`."""
    parts = min(-(-size_bytes // max_bytes), len(entries))
    if parts <= 1:
        yield decode(entries)
        return
    # Not by number alone: one of them may be as large as all others.
    held: list[RawEntry] = []
    held_bytes = 0
    for entry in entries:
        entry_size = entry_bytes(entry[1])
        if held and held_bytes + entry_size > max_bytes:
            yield decode(held)
            held, held_bytes = [], 0
        held.append(entry)
        held_bytes += entry_size
    yield decode(held)


def joined(parts: Iterable[pa.RecordBatch], rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Neighbours put together as long as they have no more than `rows`: small slices are many."""
    held: list[pa.RecordBatch] = []
    held_rows = held_bytes = 0
    for part in parts:
        if held and (held_rows + len(part) > rows or held_bytes + part.nbytes > BATCH_BYTES):
            yield concatenated(held)
            held, held_rows, held_bytes = [], 0, 0
        held.append(part)
        held_rows += len(part)
        held_bytes += part.nbytes
    if held:
        yield concatenated(held)


def concatenated(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def read_batches(
    connection: Connection,
    stream: str,
    first: int,
    last: int,
    *,
    mode: str = FIELDS_MODE,
    page_size: int = PAGE_SIZE,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """A range of IDs, both included, as Arrow batches, without Spark.

    `mode`: `fields` or `map`. Raises DataLost if a part was trimmed while it was read.
    """
    found = connection.call("XRANGE", stream, format_id(first), format_id(last), "COUNT", 1)
    if not found:
        return
    part = Slice(stream, parse_id(found[0][0]), last)
    reader = SliceReader(connection, part, LossPolicy(fails=True), page_size)
    yield from reader.batches(MODE_DECODERS[mode](stream), batch_rows)
