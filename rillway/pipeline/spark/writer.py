"""Writes batches of rows to streams, in chunks, several in flight at once.

At least once: chunks follow each other, and replies are read one chunk later. Exactly once: each
chunk is a transaction with its ledger (ledger.py), and the next one waits for it. With given IDs
(`ids=keep`) an entry that exists with the same fields is not written again, so no ledger is needed.

Uses no Spark. Leaves retries to the caller; see connection.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

import hiredis
import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.encoder import Encoder, data_of
from rillway.pipeline.arrow.origins import Origins
from rillway.pipeline.spark.ledger import Ledger
from rillway.pipeline.spark.options import SinkOptions
from rillway.pipeline.wire.cluster import connect, is_redirection, tag_of_slot
from rillway.pipeline.wire.connection import Connection, Reply, ServerError, has_error, pack

CHUNKS_UNDERWAY = 2
# The server holds a whole transaction in memory before it runs it.
CHUNK_BYTES = 8 << 20
PASSED_ID = "The ID specified in XADD is equal or smaller"


class IdConflict(Exception):
    """The stream is beyond an ID, and does not have the entry that was to be written."""


def encoder_of(options: SinkOptions, schema: pa.Schema) -> Encoder:
    """Return the encoder of the rows. Raises UnwritableRow for rows that cannot be entries."""
    return Encoder(
        schema,
        stream=options.stream,
        keeps_ids=options.keeps_ids,
        origin_columns=options.origin_columns,
        partitioning=options.partitioning,
    )


@dataclass(slots=True)
class Written:
    """The numbers of entries that were added (`entries`), and that existed or were left out."""

    entries: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that are sent together, to one node of a cluster.

    `stream`: one of their streams; `node`: the node that had it, after `changes` changes of the
    map; `trims`: requests that trim these streams; `origins`: the entries that the rows come from,
    if that is known and needed.
    """

    stream: str
    node: Connection
    changes: int
    requests: pa.BinaryArray
    trims: tuple[bytes, ...]
    origins: Origins | None = None

    @property
    def rows(self) -> int:
        return len(self.requests)

    def data(self, begin: int = 0) -> memoryview:
        """Return the requests from a row on, as they are sent."""
        return data_of(self.requests, begin, self.rows)


class EntryWriter:
    """Writes the rows of one task."""

    def __init__(
        self,
        options: SinkOptions,
        ledger_name: tuple[str, int, int] | None = None,
        *,
        has_fixed_tasks: bool = False,
    ) -> None:
        """`ledger_name`: writer, partition and batch; None for delivery at least once.

        `has_fixed_tasks`: a batch that is planned again has partitions with the same entries,
        except for deleted ones. A repeated task then continues by the entries of its rows.
        """
        self._options = options
        self._ledger_name = ledger_name
        self._has_marks = has_fixed_tasks and ledger_name is not None
        self._written = Written()
        self._opened = ExitStack()
        self._beside: Connection | None = None

    def write(self, batches: Iterable[pa.RecordBatch]) -> Written:
        """Write all rows, in order.

        Raises ServerError, ConnectionLost, UnwritableRow, IdConflict or LedgerConflict. Rows
        written before stay.
        """
        with paused_collector(), self._opened, connect(self._options.url) as connection:
            chunks = self._chunks(connection, batches)
            if self._ledger_name is None:
                self._write_plainly(connection, chunks)
            else:
                self._write_with_ledgers(connection, chunks)
        return self._written

    def _chunks(self, connection: Connection, batches: Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
        # All writes of one ledger must be in one slot.
        place = connection.place if self._ledger_name is None else connection.slot
        encoder: Encoder | None = None
        for batch in batches:
            if encoder is None:
                encoder = encoder_of(self._options, batch.schema)
            done = 0
            for requests in encoder.requests(batch):
                part = batch.slice(done, len(requests))
                done += len(requests)
                streams = encoder.streams(part)
                origins = encoder.origins(part) if self._has_marks else None
                for rows in _by_place(streams, place):
                    some, their = requests, streams
                    if rows is not None:
                        some, their = requests.take(rows), streams.take(rows)
                    node, changes = connection.of(their[0].as_py()), connection.changes
                    from_ = origins if rows is None else origins and origins.take(rows)
                    for bounds in chunk_bounds(some, self._options.batch_size):
                        yield Chunk(
                            their[bounds[0]].as_py(),
                            node,
                            changes,
                            some.slice(*bounds),
                            self._trims(their.slice(*bounds)),
                            from_ and from_.slice(*bounds),
                        )

    def _trims(self, streams: pa.Array) -> tuple[bytes, ...]:
        """Return a trim for each stream: one after each chunk costs less than one in each XADD."""
        trim = self._options.trim
        return (
            tuple(pack("XTRIM", name, *trim) for name in streams.unique().to_pylist())
            if trim
            else ()
        )

    # -- at least once ----------------------------------------------------------------------------

    def _write_plainly(self, connection: Connection, chunks: Iterable[Chunk]) -> None:
        underway: deque[Chunk] = deque()
        conflicts: list[bytes] = []
        for chunk in chunks:
            # Redirected requests go first, so that the entries of a stream stay in order.
            while underway and underway[0].changes != chunk.changes:
                conflicts += self._receive(connection, underway.popleft())
            chunk.node.send(chunk.data())
            chunk.node.send(b"".join(chunk.trims))
            underway.append(chunk)
            while len(underway) >= CHUNKS_UNDERWAY or (conflicts and underway):
                conflicts += self._receive(connection, underway.popleft())
            self._resolve(connection, conflicts)
        while underway:
            conflicts += self._receive(connection, underway.popleft())
        self._resolve(connection, conflicts)

    def _receive(self, connection: Connection, chunk: Chunk) -> list[bytes]:
        """Return the requests whose IDs the stream has passed. Raises any other error."""
        replies = chunk.node.receive_all(chunk.rows)
        trims = chunk.node.receive_all(len(chunk.trims))
        if has_error(replies) or has_error(trims):
            self._repeat(connection, [each.as_py() for each in chunk.requests], replies)
            self._repeat(connection, chunk.trims, trims)
            for error in filter(lambda each: isinstance(each, ServerError), trims):
                raise error
        if not has_error(replies):
            self._written.entries += chunk.rows
            return []
        failed = [place for place, reply in enumerate(replies) if isinstance(reply, ServerError)]
        for place in failed:
            if PASSED_ID not in str(replies[place]):
                raise replies[place]
        self._written.entries += chunk.rows - len(failed)
        return [chunk.requests[place].as_py() for place in failed]

    def _repeat(
        self, connection: Connection, requests: Sequence[bytes], replies: list[Reply]
    ) -> None:
        """Repeat redirected requests one by one, on connections without requests in flight.

        So the entries of a stream stay in order: those in flight to the old node are redirected
        too.
        """
        for place, reply in enumerate(replies):
            if is_redirection(reply):
                connection.learn(reply)
                if self._beside is None:
                    self._beside = self._opened.enter_context(connect(self._options.url))
                (replies[place],) = self._beside.call_all([_words(requests[place])])

    def _resolve(self, connection: Connection, conflicts: list[bytes]) -> None:
        """Compare the requests with the entries that have their IDs, and clear the list."""
        requests = [_words(request) for request in conflicts]
        conflicts.clear()
        if not self._options.skips_known_ids:
            lookups = [("XRANGE", stream, i, i, "COUNT", 1) for _, stream, i, *_ in requests]
            for (_, stream, entry_id, *flat), found in zip(
                requests, connection.call_all(lookups), strict=True
            ):
                if not isinstance(found, list) or [each[1] for each in found] != [flat]:
                    state = "another entry is there" if found else "the stream has passed it"
                    raise IdConflict(f"{stream.decode()}: {entry_id.decode()}: {state}")
        self._written.skipped += len(requests)

    # -- exactly once -----------------------------------------------------------------------------

    def _write_with_ledgers(self, connection: Connection, chunks: Iterable[Chunk]) -> None:
        """Write with a ledger for each slot; a single server has one."""
        assert self._ledger_name is not None
        ledgers: dict[int | None, Ledger] = {}
        with ExitStack() as opened:
            for chunk in chunks:
                slot = connection.slot(chunk.stream)
                if slot not in ledgers:
                    tag = None if slot is None else tag_of_slot(slot)
                    ttl_s = self._options.ledger_ttl_s
                    ledger = Ledger(connection, *self._ledger_name, ttl_s=ttl_s, tag=tag)
                    ledgers[slot] = opened.enter_context(closing(ledger))
                self._transact(ledgers[slot], chunk)
            for ledger in ledgers.values():
                ledger.finish()

    def _transact(self, ledger: Ledger, chunk: Chunk) -> None:
        """Write the rows of a chunk that are not written yet, and the ledger."""
        skipped = ledger.skip(chunk.requests, chunk.origins)
        self._written.skipped += skipped
        rows = chunk.rows - skipped
        if not rows:
            return
        origins = chunk.origins and chunk.origins.slice(skipped)
        replies = ledger.write(chunk.data(skipped), rows, origins, chunk.trims)
        self._written.entries += rows
        for reply in replies[rows:]:
            if isinstance(reply, ServerError):
                raise reply


def _by_place(streams: pa.Array, place: Callable[[str], object]) -> Iterator[pa.Array | None]:
    """Yield the numbers of the rows of each ledger; None means all."""
    by_place: dict[object, list[str]] = {}
    for name in streams.unique().to_pylist():
        by_place.setdefault(place(name), []).append(name)
    if len(by_place) <= 1:
        yield None
        return
    for names in by_place.values():
        yield pc.indices_nonzero(pc.is_in(streams, value_set=pa.array(names, streams.type)))


def chunk_bounds(requests: pa.BinaryArray, rows: int) -> Iterator[tuple[int, int]]:
    """Yield where chunks begin and their numbers of rows: at most `rows`, and CHUNK_BYTES.

    A larger row is a chunk of its own.
    """
    begin, end = 0, len(requests)
    while begin < end:
        count = min(rows, end - begin)
        while count > 1 and len(data_of(requests, begin, begin + count)) > CHUNK_BYTES:
            count = (count + 1) // 2
        yield begin, count
        begin += count


def _words(request: bytes) -> list[bytes]:
    """Return the words of a packed request: XADD, the stream, the ID and the fields."""
    reader = hiredis.Reader()
    reader.feed(request)
    words: list[bytes] = reader.gets()
    return words
