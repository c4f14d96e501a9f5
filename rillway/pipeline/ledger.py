"""What a task has written, kept beside what it wrote: a task that is run again goes on from there.

The ledger of a task is one string key. It is set in the same MULTI as each chunk of entries, so the
two are there or not there together; WATCH makes sure that no other attempt of the task writes at
the same time. It holds a digest of the rows as well: an attempt whose rows are not those of the one
before is refused, for no count could then say what is missing.

Redis 8.6 and Rillway have XADD IDMP too. It is not used here: a server forgets its idempotent IDs
after a while and beyond a number, and a job may be run again much later.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rillway.pipeline.connection import Connection, pack

PREFIX = "__spark:ledger:"
DIGEST_BYTES = 16


class LedgerConflict(Exception):
    """The ledger is not what this task left, or its rows are not those that the ledger counts."""


@dataclass(frozen=True, slots=True)
class Record:
    """Of one batch: how many rows are written, and the digest of their requests."""

    batch: int
    rows: int = 0
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.batch} {self.rows} {self.digest}".rstrip()


def parse_record(text: bytes) -> Record:
    """Raises LedgerConflict for a key that holds something else."""
    words = text.decode(errors="replace").split(" ")
    try:
        return Record(int(words[0]), int(words[1]), words[2] if len(words) > 2 else "")
    except (ValueError, IndexError):
        raise LedgerConflict(
            f"the ledger holds {text!r}, which this pipeline did not write"
        ) from None


class Ledger:
    """The ledger of one task, for one attempt.

    Raises LedgerConflict if another attempt has written since, or the ledger is of a later batch.
    """

    def __init__(self, connection: Connection, writer: str, partition: int, batch: int) -> None:
        self.key = f"{PREFIX}{writer}:{partition}"
        self._connection = connection
        self._batch = batch
        connection.send(self.watch_request())
        self.stored = self.receive_watched()
        known = None if self.stored is None else parse_record(self.stored)
        if known is not None and known.batch > batch:
            raise LedgerConflict(f"{self.key} is at batch {known.batch}, and this is batch {batch}")
        is_of_batch = known is not None and known.batch == batch
        self.done = known if known is not None and is_of_batch else Record(batch)
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._rows = 0

    # -- rows that an earlier attempt has written -------------------------------------------------

    @property
    def to_skip(self) -> int:
        """How many of the next rows are written already."""
        return max(self.done.rows - self._rows, 0)

    def skip(self, data: memoryview, rows: int) -> None:
        """Rows that are written: only looked at."""
        self._hash.update(data)
        self._rows += rows
        if not self.to_skip and self._hash.hexdigest() != self.done.digest:
            raise LedgerConflict(
                "the rows of this task are not those of its first attempt, of which "
                f"{self.done.rows:,} are written: exactly-once needs the same rows in one order"
            )

    def finish(self) -> None:
        """At the end of the rows. Raises LedgerConflict if there were more of them before."""
        if self.to_skip:
            raise LedgerConflict(
                f"this task has {self._rows:,} rows, and an earlier attempt had written "
                f"{self.done.rows:,}: exactly-once needs the same rows in the same order"
            )

    # -- rows that are written --------------------------------------------------------------------

    def record(self, data: memoryview, rows: int) -> bytes:
        """The request that records the next rows, for the transaction in which they are added."""
        self._hash.update(data)
        self._rows += rows
        self.stored = str(Record(self._batch, self._rows, self._hash.hexdigest())).encode()
        return pack("SET", self.key, self.stored)

    def watch_request(self) -> bytes:
        """To be sent before each transaction, after the one before."""
        return pack("WATCH", self.key) + pack("GET", self.key)

    def receive_watched(self) -> bytes | None:
        self._connection.receive()
        found: bytes | None = self._connection.receive()
        return found

    def check_unchanged(self) -> None:
        """Receives the replies to `watch_request`."""
        if self.receive_watched() != self.stored:
            raise LedgerConflict(f"another attempt of this task has changed {self.key}")
