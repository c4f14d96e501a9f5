"""The ledger of a task: a record of what it has written, so that its next attempt continues there.

The ledger of a task is one string key, set in one transaction with each chunk of entries; no other
attempt of the task writes at the same time (wire/watched_key.py).

A task is identified by its number: a batch that is planned again has the same tasks (tasks.py). If
rows name the entries they come from, the ledger holds the last one written, and later deletions do
not matter. Otherwise it holds the number of rows and a digest: an attempt with other rows than the
previous one is refused, because a count could not show what is missing.

XADD IDMP of Redis 8.6 and Rillway is not used here: a server keeps idempotent IDs for a limited
time and up to a limited number, and a job may be run again much later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from rillway.pipeline.arrow.encoder import data_of
from rillway.pipeline.arrow.origins import Mark, Origins, parse_mark
from rillway.pipeline.wire.connection import Connection, Reply, ServerError, has_error
from rillway.pipeline.wire.watched_key import WatchedKey
from rillway.plurals import count_of

PREFIX = "__spark:ledger:"
DIGEST_BYTES = 16


class LedgerConflict(Exception):
    """Another attempt has changed the ledger, or the rows are not those that it records."""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one batch: the rows written, the digest of their requests, the last origin."""

    batch: int
    rows: int = 0
    digest: str = ""
    mark: Mark | None = None

    def __str__(self) -> str:
        text = f"{self.batch} {self.rows} {self.digest}".rstrip()
        return text if self.mark is None else f"{text} {self.mark}"


def parse_record(text: bytes) -> Record:
    """Parse a record. Raises LedgerConflict for any other value."""
    words = text.decode(errors="replace").split(" ")
    try:
        mark = parse_mark(*words[3:]) if len(words) > 3 else None
        return Record(int(words[0]), int(words[1]), words[2] if len(words) > 2 else "", mark)
    except (ValueError, IndexError, TypeError):
        raise LedgerConflict(
            f"the ledger holds {text!r}, which this pipeline did not write"
        ) from None


class Ledger:
    """The ledger of one task, for one attempt.

    Raises LedgerConflict if another attempt has written meanwhile, or for the ledger of a later
    batch.
    """

    def __init__(
        self,
        connection: Connection,
        writer: str,
        partition: int,
        batch: int,
        *,
        ttl_s: int = 0,
        tag: str | None = None,
    ) -> None:
        """`ttl_s`: how long it is kept after the last chunk; 0 means for ever.

        `tag`: in a cluster, a hash tag for the slot of the writes; a task that writes to several
        slots has a ledger for each.
        """
        self.key = f"{PREFIX}{'' if tag is None else f'{{{tag}}}:'}{writer}:{partition}"
        self._batch = batch
        changed = LedgerConflict(f"another attempt of this task has changed {self.key}")
        expiry = ("EX", ttl_s) if ttl_s else ()
        self._watched = WatchedKey(connection, self.key, changed, expiry=expiry)
        stored = self._watched.value
        known = None if stored is None else parse_record(stored)
        if known is not None and known.batch > batch:
            raise LedgerConflict(f"{self.key} is at batch {known.batch}, and this is batch {batch}")
        is_of_batch = known is not None and known.batch == batch
        self.done = known if known is not None and is_of_batch else Record(batch)
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._rows = 0
        self._mark: Mark | None = None
        self._has_marks = True  # until a row has no origin
        self._skipping = self.done.mark  # the recorded rows still to be skipped

    def close(self) -> None:
        self._watched.close()

    # -- rows that an earlier attempt has written -------------------------------------------------

    def skip(self, requests: pa.BinaryArray, origins: Origins | None) -> int:
        """Return how many of the next rows were written before; these are only checked.

        Raises LedgerConflict if that cannot be determined.
        """
        if self.done.mark is not None:
            rows = self._skip_by_mark(origins) if self._skipping is not None else 0
        else:
            rows = min(max(self.done.rows - self._rows, 0), len(requests))
        if rows:
            self._pass(data_of(requests, 0, rows), rows, origins and origins.slice(0, rows))
            if self.done.mark is None and self._rows == self.done.rows:
                self._check_digest()
        return rows

    def _skip_by_mark(self, origins: Origins | None) -> int:
        assert self._skipping is not None
        if origins is None:
            raise LedgerConflict(
                "the rows of this task do not say which entries they come from, and those of an "
                "earlier attempt did"
            )
        rows, of_mark = origins.written(self._skipping)
        self._skipping = replace(self._skipping, rows=self._skipping.rows - of_mark)
        if rows < len(origins):
            self._skipping = None
        return rows

    def _check_digest(self) -> None:
        if self._hash.hexdigest() != self.done.digest:
            raise LedgerConflict(
                "the rows of this task are not those of its first attempt, of which "
                f"{self.done.rows:,} are written: exactly-once needs the same rows in one order, "
                "or the option originColumns, if entries were deleted meanwhile"
            )

    def finish(self) -> None:
        """Check the number of rows. Raises LedgerConflict if an earlier attempt had more."""
        if self.done.mark is None and self._rows < self.done.rows:
            raise LedgerConflict(
                f"this task has {count_of(self._rows, 'row')}, and an earlier attempt had written "
                f"{self.done.rows:,}: exactly-once needs the same rows in the same order, or the "
                "option originColumns, if entries were deleted meanwhile"
            )

    # -- rows that are written --------------------------------------------------------------------

    def write(
        self, data: memoryview, rows: int, origins: Origins | None, trims: Sequence[bytes]
    ) -> list[Reply]:
        """Add the next rows, trim, and record them; returns the replies to all requests.

        Raises ServerError and LedgerConflict, which end the attempt. If the server refused the
        rows, the key is unchanged.
        """
        stored = self._watched.value
        self._pass(data, rows, origins)
        record = str(Record(self._batch, self._rows, self._hash.hexdigest(), self._mark)).encode()
        replies = self._watched.transact([data, *trims], rows + len(trims), record)
        self._watched.catch_up()
        if has_error(replies[:rows]):
            self._undo(stored, replies[:rows])
        return replies

    def _undo(self, stored: bytes | None, replies: Sequence[Reply]) -> None:
        """Correct the ledger after an XADD that failed: the transaction has counted its row.

        The ledger is restored if no row was added, for example to a key of another type. Raises the
        error.
        """
        errors = [reply for reply in replies if isinstance(reply, ServerError)]
        if len(errors) < len(replies):
            added = len(replies) - len(errors)
            raise LedgerConflict(
                f"{errors[0]}; {added:,} of {count_of(len(replies), 'entry')} had been added "
                f"before, so {self.key} no longer agrees with the stream"
            )
        self._watched.set_back(stored)
        raise errors[0]

    def _pass(self, data: memoryview, rows: int, origins: Origins | None) -> None:
        """Count rows that are written, by this attempt or an earlier one, and add to the digest."""
        self._hash.update(data)
        self._rows += rows
        if self._has_marks and origins is not None and origins.ascend_from(self._mark):
            self._mark = origins.mark_after(self._mark)
        else:
            self._mark, self._has_marks = None, False
