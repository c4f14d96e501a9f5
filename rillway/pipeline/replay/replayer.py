"""Replays archived entries into a stream: in order, at a pace, each once even if run repeatedly."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from rillway.pipeline.archive.files.parquet_files import id_at
from rillway.pipeline.archive.files.rows import StreamRows
from rillway.pipeline.archive.identity.epochs import (
    StreamState,
    line_of,
)
from rillway.pipeline.archive.limits import ALL, CURRENT
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.encoder import Encoder, data_of
from rillway.pipeline.arrow.schema import PAIRS
from rillway.pipeline.replay.ledger import Ledger, ReplayPlan, ReplayProgress, ReplayRefused
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, format_id, unit_text

CHUNK_ROWS = 1000
ORIGIN_STREAM, ORIGIN_ID = b"_orig_stream", b"_orig_id"


@dataclass(slots=True)
class Replayed:
    """The outcome of a replay. `before`: the number of entries that earlier runs wrote."""

    rows: int = 0
    before: int = 0
    last_id: int = MIN_ID
    is_complete: bool = True


def wait_uninterrupted(seconds: float) -> bool:
    time.sleep(seconds)
    return False


@dataclass(slots=True)
class Hooks:
    """Callbacks for progress and waiting; `wait` returns True to stop."""

    planned: Callable[[int], None] = lambda rows: None
    advanced: Callable[[int], None] = lambda rows: None
    wait: Callable[[float], bool] = wait_uninterrupted
    clock: Callable[[], float] = time.monotonic


class Replayer:
    """Replays a stream of an archive into a stream of a server."""

    def __init__(
        self,
        url: str,
        table: ArchiveTable,
        stream: str,
        into: str,
        *,
        keeps_ids: bool = False,
        marks_origin: bool = False,
        appends: bool = False,
        epochs: str | None = None,
        pace: Pace | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self._url, self._table, self._stream, self._into = url, table, stream, into
        self._keeps_ids, self._marks_origin = keeps_ids, marks_origin
        self._appends = appends
        # Kept IDs have to ascend.
        self._epochs = epochs or (CURRENT if keeps_ids else ALL)
        self._pace = pace or AtOnce()
        self._hooks = hooks or Hooks()

    def run(self, first: int = MIN_ID, last: int = MAX_ID) -> Replayed:
        """Replay the entries from `first` to `last`, both included.

        Raises ReplayRefused, ArchiveError, ServerError and ConnectionLost; entries written by then
        stay, and are not written again.
        """
        plan = ReplayPlan(
            self._table.id,
            self._stream,
            first,
            self._keeps_ids,
            self._marks_origin,
            self._epochs,
        )
        with connect(self._url) as connection, paused_collector():
            ledger = Ledger(connection, self._into, plan, appends=self._appends)
            if any(name.startswith(self._table.group) for name in ledger.groups):
                raise ReplayRefused(
                    f"{self._into} is archived to {self._table.store}: a replay into it would be "
                    "archived once more"
                )
            done = Replayed(before=ledger.progress.rows)
            rows = self._rows(ledger.progress, first, last)
            self._hooks.planned(rows.estimate())
            began = self._hooks.clock()
            for epoch, batch in rows.batches():
                if not self._replay(batch, epoch, ledger, done, began):
                    done.is_complete = False
                    break
            ledger.finish()
            done.last_id = ledger.progress.at
            return done

    def _rows(self, progress: ReplayProgress, first: int, last: int) -> StreamRows:
        """Return what is left to replay. Raises ReplayRefused, ArchiveError."""
        state = self._table.state(self._stream)
        if self._epochs == CURRENT and state is not None and progress.rows:
            self._check_line(state, progress)
        rows = self._table.rows(self._stream, self._epochs, first, last)
        after = max(first, progress.at + 1)
        segments = [
            replace(part, first=after)
            if self._epochs == CURRENT or part.epoch == progress.epoch
            else part
            for part in rows.segments
            if self._epochs == CURRENT or part.epoch >= progress.epoch
        ]
        return replace(rows, segments=[part for part in segments if not part.is_empty])

    def _check_line(self, state: StreamState, progress: ReplayProgress) -> None:
        line = dict(line_of(state.epochs, state.present.number))
        if progress.at > line.get(progress.epoch, MIN_ID):
            raise ReplayRefused(
                f"{self._stream} has diverged from what was replayed into {self._into}, "
                f"before {format_id(progress.at)}: use another stream"
            )

    def _replay(
        self, batch: pa.RecordBatch, epoch: int, ledger: Ledger, done: Replayed, began: float
    ) -> bool:
        """Write a batch at its pace; False if it was interrupted."""
        hooks, pace = self._hooks, self._pace
        times_ms = self._times_ms(batch)
        position = 0
        for requests in self._requests(batch):
            begin, end = position, position + len(requests)
            while position < end:
                seconds = hooks.clock() - began
                due = pace.due(times_ms, position, done.rows, seconds)
                if not due:
                    wait = pace.wait_seconds(times_ms[position], done.rows, seconds)
                    if hooks.wait(min(max(wait, MIN_WAIT_SECONDS), MAX_WAIT_SECONDS)):
                        return False
                    continue
                rows = min(due, CHUNK_ROWS, end - position)
                data = data_of(requests, position - begin, position - begin + rows)
                position += rows
                at = id_at(batch, position - 1)
                ledger.write(data, rows, epoch, at, at if self._keeps_ids else MIN_ID)
                done.rows += rows
                hooks.advanced(rows)
                if hooks.wait(0):
                    return False
        return True

    def _times_ms(self, batch: pa.RecordBatch) -> list[float]:
        """Return the times of entries in ms; 0 if an ID is not a time. Raises ReplayRefused."""
        times = batch.column("ts")
        if times.null_count and isinstance(self._pace, Speed):
            raise ReplayRefused(
                f"{self._stream}: {unit_text(self._table.unit(self._stream))}, from which --speed "
                "takes the gaps: use --rate"
            )
        return [(time or 0) / 1000 for time in times.cast(pa.int64()).to_pylist()]

    def _requests(self, batch: pa.RecordBatch) -> Iterator[pa.BinaryArray]:
        content = with_origin(batch) if self._marks_origin else batch
        encoder = Encoder(content.schema, stream=self._into, keeps_ids=self._keeps_ids)
        yield from encoder.requests(content)


def with_origin(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return entries with two more fields: their original stream and ID."""
    rows = zip(
        batch.column("fields").to_pylist(),
        batch.column("stream").to_pylist(),
        batch.column("id").to_pylist(),
        strict=True,
    )
    fields = [
        [
            *pairs,
            {"name": ORIGIN_STREAM, "value": stream.encode()},
            {"name": ORIGIN_ID, "value": entry_id.encode()},
        ]
        for pairs, stream, entry_id in rows
    ]
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns["fields"] = pa.array(fields, PAIRS)
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=batch.schema)


# Limits the wait, so that a signal is noticed.
MAX_WAIT_SECONDS = 0.25
# The shortest wait: fractions of a second are not exact.
MIN_WAIT_SECONDS = 0.001


class Pace(Protocol):
    """The pace of a replay, asked repeatedly; `seconds` have passed since the replay began."""

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        """Return how many entries from `begin` on are due now. `sent`: the number sent before."""
        ...

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        """Return the seconds until the next entry, which has this time, is due."""
        ...


class AtOnce:
    """A pace without a limit."""

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        return len(times_ms) - begin

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        return 0.0


@dataclass(slots=True)
class Rate:
    """A rate in entries per second."""

    entries: float

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        return max(min(int(seconds * self.entries) + 1 - sent, len(times_ms) - begin), 0)

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        return max(sent / self.entries - seconds, 0.0)


@dataclass(slots=True)
class Speed:
    """A pace that keeps the gaps between entries, `factor` times shorter."""

    factor: float
    first_ms: float | None = None

    def due(self, times_ms: Sequence[float], begin: int, sent: int, seconds: float) -> int:
        if self.first_ms is None:
            self.first_ms = times_ms[begin]
        now_ms = self.first_ms + seconds * 1000 * self.factor
        return bisect_right(times_ms, now_ms, lo=begin) - begin

    def wait_seconds(self, time_ms: float, sent: int, seconds: float) -> float:
        assert self.first_ms is not None
        return max((time_ms - self.first_ms) / 1000 / self.factor - seconds, 0.0)
