"""Writing batches of rows to streams: in chunks, several in flight at once.

At least once: chunks follow each other, and replies are read one chunk later. Exactly once:
each chunk is a transaction with its ledger (ledger.py), and the next one waits for it. With IDs of
its own (`ids=keep`) an entry that is there already, with the same fields, is not written again, so
that needs no ledger.

No Spark here. Leaves out: retries, which are the caller's; see connection.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import hiredis
import pyarrow as pa

from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.encoder import Encoder, data_of
from rillway.pipeline.arrow.origins import Origins
from rillway.pipeline.client.connection import Connection, Reply, ServerError, has_error, pack
from rillway.pipeline.spark.ledger import Ledger, LedgerConflict
from rillway.pipeline.spark.options import SinkOptions

CHUNKS_UNDERWAY = 2
# A transaction is held by the server as a whole before anything of it is done.
CHUNK_BYTES = 8 << 20
MULTI, EXEC = pack("MULTI"), pack("EXEC")
PASSED_ID = "The ID specified in XADD is equal or smaller"


class IdConflict(Exception):
    """The stream has passed an ID, and the entry is not there as it was to be written."""


def encoder_of(options: SinkOptions, schema: pa.Schema) -> Encoder:
    """Raises UnwritableRow for rows that make no entries."""
    return Encoder(
        schema,
        stream=options.stream,
        keeps_ids=options.keeps_ids,
        origin_columns=options.origin_columns,
    )


@dataclass(slots=True)
class Written:
    """`entries`: added now; `skipped`: there already, or left out by `onIdConflict=skip`."""

    entries: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that are sent together.

    `trims`: the requests that trim the streams they go to; `origins`: the entries they come from,
    where that is known and needed.
    """

    requests: pa.BinaryArray
    trims: tuple[bytes, ...]
    origins: Origins | None = None

    @property
    def rows(self) -> int:
        return len(self.requests)

    def data(self, begin: int = 0) -> memoryview:
        """The requests from a row on, as they are sent."""
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
        """`ledger_name`: writer, partition and batch; None: at least once.

        `has_fixed_tasks`: whenever the batch is planned again, a partition has the same entries but
        for those that were deleted. It then goes on where it was by the entries of its rows.
        """
        self._options = options
        self._ledger_name = ledger_name
        self._has_marks = has_fixed_tasks and ledger_name is not None
        self._written = Written()

    def write(self, batches: Iterable[pa.RecordBatch]) -> Written:
        """All rows, in order.

        Raises ServerError, ConnectionLost, UnwritableRow, IdConflict or LedgerConflict. What was
        written until then stays.
        """
        chunks = self._chunks(batches)
        with paused_collector(), Connection(self._options.url) as connection:
            if self._ledger_name is None:
                self._write_plainly(connection, chunks)
            else:
                ttl_s = self._options.ledger_ttl_s
                ledger = Ledger(connection, *self._ledger_name, ttl_s=ttl_s)
                self._write_with_ledger(connection, ledger, chunks)
        return self._written

    def _chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
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
                for bounds in chunk_bounds(requests, self._options.batch_size):
                    yield Chunk(
                        requests.slice(*bounds),
                        self._trims(streams.slice(*bounds)),
                        origins and origins.slice(*bounds),
                    )

    def _trims(self, streams: pa.Array) -> tuple[bytes, ...]:
        """A trim after each chunk has the same result as one in each XADD, and costs less."""
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
            connection.send(chunk.data())
            connection.send(b"".join(chunk.trims))
            underway.append(chunk)
            while len(underway) >= CHUNKS_UNDERWAY or (conflicts and underway):
                conflicts += self._receive(connection, underway.popleft())
            self._resolve(connection, conflicts)
        while underway:
            conflicts += self._receive(connection, underway.popleft())
        self._resolve(connection, conflicts)

    def _receive(self, connection: Connection, chunk: Chunk) -> list[bytes]:
        """The requests whose IDs the stream has passed; raises any other error."""
        replies = connection.receive_all(chunk.rows)
        for _ in chunk.trims:
            connection.receive()
        if not has_error(replies):
            self._written.entries += chunk.rows
            return []
        failed = [place for place, reply in enumerate(replies) if isinstance(reply, ServerError)]
        for place in failed:
            if PASSED_ID not in str(replies[place]):
                raise replies[place]
        self._written.entries += chunk.rows - len(failed)
        return [chunk.requests[place].as_py() for place in failed]

    def _resolve(self, connection: Connection, conflicts: list[bytes]) -> None:
        """Looks at what is there under the IDs, and takes the requests off the list."""
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

    def _write_with_ledger(
        self, connection: Connection, ledger: Ledger, chunks: Iterable[Chunk]
    ) -> None:
        for chunk in chunks:
            skipped = ledger.skip(chunk.requests, chunk.origins)
            self._written.skipped += skipped
            if skipped < chunk.rows:
                self._transact(connection, ledger, chunk, skipped)
        ledger.finish()

    def _transact(self, connection: Connection, ledger: Ledger, chunk: Chunk, skipped: int) -> None:
        """The rows of a chunk that are not written yet, and the ledger."""
        before = ledger.stored
        rows, data = chunk.rows - skipped, chunk.data(skipped)
        origins = chunk.origins and chunk.origins.slice(skipped)
        record = ledger.record(data, rows, origins)
        connection.send(MULTI)
        connection.send(data)
        connection.send(b"".join([*chunk.trims, record, EXEC, ledger.watch_request()]))
        *queued, result = connection.receive_all(1 + rows + len(chunk.trims) + 2)
        if result is None:
            raise LedgerConflict(f"another attempt of this task has changed {ledger.key}")
        if isinstance(result, ServerError):  # nothing was done; the cause came before
            raise next((reply for reply in queued if isinstance(reply, ServerError)), result)
        ledger.check_unchanged()
        _check_transaction(ledger, before, result[:rows])
        self._written.entries += rows
        for reply in result[rows:]:
            if isinstance(reply, ServerError):
                raise reply


def chunk_bounds(requests: pa.BinaryArray, rows: int) -> Iterator[tuple[int, int]]:
    """Where chunks begin and how many rows they have: `rows` at most, and CHUNK_BYTES.

    A row with more bytes is a chunk of its own.
    """
    begin, end = 0, len(requests)
    while begin < end:
        count = min(rows, end - begin)
        while count > 1 and len(data_of(requests, begin, begin + count)) > CHUNK_BYTES:
            count = (count + 1) // 2
        yield begin, count
        begin += count


def _check_transaction(ledger: Ledger, before: bytes | None, replies: list[Reply]) -> None:
    """A transaction continues after an XADD that fails: then the ledger counts too much.

    It is set back, if none was added: the key is no stream, say. Raises the error.
    """
    if not has_error(replies):
        return
    errors = [reply for reply in replies if isinstance(reply, ServerError)]
    if len(errors) < len(replies):
        added = len(replies) - len(errors)
        raise LedgerConflict(
            f"{errors[0]}; {added:,} of {len(replies):,} entries were added before, so that "
            f"{ledger.key} is not true any more"
        )
    ledger.set_back(before)
    raise errors[0]


def _words(request: bytes) -> list[bytes]:
    """XADD, the stream, the ID and the fields of a packed request."""
    reader = hiredis.Reader()
    reader.feed(request)
    words: list[bytes] = reader.gets()
    return words
