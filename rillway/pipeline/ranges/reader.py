"""Reads a range of a stream page by page, and detects if it is incomplete.

The next page is requested before the current one is returned, so server and caller work in
parallel. Each page begins with the last entry of the previous one: if that still exists, no trim
came between the two.

plan.py decides what to read. Uses no Spark.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from rillway.pipeline.arrow.decoder import (
    Decoder,
    RawEntry,
    fields_decoder,
    map_decoder,
    repeated,
)
from rillway.pipeline.arrow.schema import FIELDS_MODE, MAP_MODE
from rillway.pipeline.ranges.loss import LossPolicy
from rillway.pipeline.ranges.pages import PAGE_SIZE, PageSize
from rillway.pipeline.ranges.plan import Slice, entry_bytes
from rillway.pipeline.wire.connection import Connection, ReplyTooLong, ServerError, pack
from rillway.pipeline.wire.facts import read_facts
from rillway.pipeline.wire.ids import format_id, parse_id
from rillway.plurals import count_of

BATCH_ROWS = 10_000
BATCH_BYTES = 32 << 20

MODE_DECODERS = {FIELDS_MODE: fields_decoder, MAP_MODE: map_decoder}


@dataclass(slots=True)
class SliceReader:
    """Reads a slice once. `entries`: the number returned so far.

    `page_bytes`: the approximate size of the last page; `repeats`: the number of repeated requests.
    """

    connection: Connection
    slice: Slice
    policy: LossPolicy
    page_size: int = PAGE_SIZE
    entries: int = 0
    page_bytes: int = 0
    received_bytes: int = 0
    repeats: int = 0
    # IDs at which a page was to begin, and which no longer exist.
    gaps: list[int] = field(default_factory=list)

    def pages(self) -> Iterator[list[RawEntry]]:
        """Yield the entries in order. Raises DataLost at the end if some were trimmed meanwhile."""
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
                del page[0]  # the previous page had it
            asked_for = 0
            if has_more:
                expected = parse_id(page[-1][0])
                # The last one again, and as many after it.
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
        """Yield the batches of this slice; see decoded_pages."""
        return decoded_pages([self], decode, rows, max_bytes)

    def _check(self) -> None:
        planned = self.slice.entries
        missing = None if planned is None else planned - self.entries
        if not self.gaps and not missing:
            return
        facts = read_facts(self.connection, self.slice.stream)
        bounds = f"from {format_id(self.slice.first)} to {format_id(self.slice.last)}"
        some = "some entries"
        if missing is not None and planned is not None:
            some = f"{missing:,} of {count_of(planned, 'entry')}"
        text = f"{self.slice.stream}: {some} {bounds}"
        # Trims remove the first entries; XDEL records the greatest ID it removed.
        if self.gaps and facts.max_deleted_id < self.gaps[-1]:
            now = f"begins at {format_id(facts.first_id)}" if facts.length else "is empty"
            self.policy.lost(f"{text} had been trimmed before they were read; the stream {now} now")
        elif self.gaps or missing:
            self.policy.unclear(f"{text} had been deleted or trimmed before they were read")


def decoded_pages(
    readers: Iterable[SliceReader],
    decode: Decoder,
    rows: int = BATCH_ROWS,
    max_bytes: int = BATCH_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Join pages of slices to batches of at least `rows` entries or half of `max_bytes`.

    Decoding a few entries at a time, from many streams, would take as long as reading them. A batch
    has about `max_bytes` at most, or one entry. Raises DataLost after each slice.
    """
    held = _Held(decode, max_bytes)
    for reader in readers:
        for page in reader.pages():
            held.add(reader.slice.stream, page, reader.page_bytes)
            if len(held.entries) >= rows or held.size_bytes >= max_bytes // 2:
                yield from held.decoded()
                held = _Held(decode, max_bytes)
    yield from held.decoded()


@dataclass(slots=True)
class _Held:
    """Pages that are not decoded yet, with their streams."""

    decode: Decoder
    max_bytes: int
    entries: list[RawEntry] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, stream: str, page: list[RawEntry], size_bytes: int) -> None:
        self.entries += page
        self.streams.append(stream)
        self.lengths.append(len(page))
        self.size_bytes += size_bytes

    def decoded(self) -> Iterator[pa.RecordBatch]:
        """Yield the entries as one batch, or as several if they have more than `max_bytes`."""
        if not self.entries:
            return
        streams = repeated(self.streams, self.lengths)
        ends = [*self._cuts(), len(self.entries)]
        for begin, end in zip([0, *ends], ends, strict=False):
            yield self.decode(self.entries[begin:end], streams.slice(begin, end - begin))

    def _cuts(self) -> Iterator[int]:
        """Cut by bytes, not by number alone: one entry may be as large as all others."""
        if self.size_bytes <= self.max_bytes:
            return
        size = 0
        for place, entry in enumerate(self.entries):
            entry_size = entry_bytes(entry[1])
            if size and size + entry_size > self.max_bytes:
                yield place
                size = 0
            size += entry_size


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
    """Read a range of IDs, both included, as Arrow batches, without Spark.

    `mode`: `fields` or `map`. Raises DataLost if a part was trimmed while it was read.
    """
    found = connection.call("XRANGE", stream, format_id(first), format_id(last), "COUNT", 1)
    if not found:
        return
    part = Slice(stream, parse_id(found[0][0]), last)
    reader = SliceReader(connection, part, LossPolicy(fails=True), page_size)
    yield from reader.batches(MODE_DECODERS[mode](stream), batch_rows)
