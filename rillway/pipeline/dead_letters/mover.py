"""Moves entries that were delivered too often to another stream, each exactly once.

An entry is copied and acknowledged in one transaction, so a mover that is killed has done both or
neither, and the next one continues. If an entry was deleted, only its ID is left: it is reported,
and stays pending unless the user wants it dropped.

Concurrent actions of others:

- Another mover into the same stream: the transaction watches that stream, and entries are read
  under the watch. One mover moves an entry; the other starts again and no longer finds it.
- A consumer acknowledges an entry after that read: XACK returns 0, and the copy is deleted. (A
  mover that is killed right then leaves the copy of an entry that was processed. Redis cannot
  prevent that, as XACK does not fail a WATCH.)
- A consumer claims an entry after that read: the entry is moved, as one more delivery does not
  change that there were too many. The consumer's XACK will return 0.
- A client replaces the stream of dead letters by another type: the watch notices, so nothing is
  acknowledged that was not copied.

Transactions are used instead of scripts, because some servers allow none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rillway.dead_letter import Cause, dead_letter
from rillway.pipeline.wire.connection import Connection, Reply, ServerError, Word, exec_reply
from rillway.pipeline.wire.ids import MAX_ID, format_id, parse_id
from rillway.pipeline.wire.pending import (
    PAGE_SIZE,
    PendingEntry,
    PendingSlice,
    parse_pending,
    read_pending,
    server_time_ms,
)

# The number of entries in one transaction.
CHUNK_ENTRIES = 100
# The number of attempts for a chunk while others write to the dead letters.
MAX_ATTEMPTS = 50


class MoveFailed(Exception):
    """Nothing more can be moved; the text says why."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for dead entries: delivered more than `more_than` times, and idle long enough."""

    more_than: int
    min_idle_ms: int = 0

    def apply_to(self, entry: PendingEntry) -> bool:
        """Return True for a dead entry. A released entry (XNACK) counts as idle."""
        if entry.deliveries <= self.more_than:
            return False
        return entry.idle_ms is None or entry.idle_ms >= self.min_idle_ms

    def cause(self, entry: PendingEntry) -> Cause:
        return "failed" if entry.idle_ms is None else "deadline"

    def error(self, entry: PendingEntry) -> str:
        return f"delivered {entry.deliveries} times, more than {self.more_than}"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead entry. `fields`: alternating names and values; None if the entry was deleted."""

    entry: PendingEntry
    fields: list[bytes] | None
    delivered_ms: int | None  # the last time; None if it was released


@dataclass(slots=True)
class MoveReport:
    """The outcome of moving the dead letters of one group. The lists hold IDs."""

    stream: str
    group: str
    moved: int = 0
    missing: list[int] = field(default_factory=list)  # the entry was deleted
    dropped: int = 0  # of the missing ones, those that were acknowledged
    taken_back: int = 0  # were acknowledged by another client at the last moment
    moved_ids: list[int] = field(default_factory=list, compare=False)


class Mover:
    """Moves dead entries of the groups of one stream to the stream `to`."""

    def __init__(
        self,
        connection: Connection,
        stream: str,
        to: str,
        rules: Rules,
        *,
        drops_missing: bool = False,
        chunk_entries: int = CHUNK_ENTRIES,
        page_size: int = PAGE_SIZE,
    ) -> None:
        self._connection = connection
        self._stream, self._to = stream, to
        self._rules = rules
        self._drops_missing = drops_missing
        self._chunk_entries, self._page_size = chunk_entries, page_size

    def find(self, group: str) -> Iterator[list[DeadLetter]]:
        """Yield batches of the entries that would be moved now, in order. Raises ServerError."""
        for ids in self._candidates(group):
            yield self._look_at(group, ids)

    def move(self, group: str, report: MoveReport) -> Iterator[int]:
        """Move all dead entries; yields the number of entries that each step has processed.

        Stopping between two steps is safe; `report` is up to date then. Raises ServerError,
        MoveFailed.
        """
        for ids in self._candidates(group):
            yield self._move_chunk(group, ids, report)

    def move_entries(self, group: str, ids: Sequence[int], report: MoveReport) -> None:
        """Move entries that the rules apply to. Raises ServerError, MoveFailed."""
        for start in range(0, len(ids), self._chunk_entries):
            self._move_chunk(group, ids[start : start + self._chunk_entries], report)

    def _candidates(self, group: str) -> Iterator[list[int]]:
        """Yield the IDs of dead entries, in groups for one transaction each."""
        found: list[int] = []
        # Without IDLE, because not all servers treat released entries as idle.
        for page in read_pending(
            self._connection, PendingSlice(self._stream, group), page_size=self._page_size
        ):
            found += [entry.id for entry in page if self._rules.apply_to(entry)]
            while len(found) >= self._chunk_entries:
                yield found[: self._chunk_entries]
                found = found[self._chunk_entries :]
        if found:
            yield found

    def _look_at(self, group: str, ids: Sequence[int]) -> list[DeadLetter]:
        """Return the entries that are still dead, with their fields."""
        names = [format_id(entry_id) for entry_id in ids]
        replies = self._connection.call_all(
            [("XPENDING", self._stream, group, name, name, 1) for name in names]
            + [("XRANGE", self._stream, name, name) for name in names]
        )
        now_ms = server_time_ms(self._connection)
        for reply in replies:
            if isinstance(reply, ServerError):
                raise reply
        found = []
        for line, body in zip(replies[: len(ids)], replies[len(ids) :], strict=True):
            if line and self._rules.apply_to(entry := parse_pending(line[0])):
                delivered_ms = None if entry.idle_ms is None else now_ms - entry.idle_ms
                found.append(DeadLetter(entry, body[0][1] if body else None, delivered_ms))
        return found

    # -- moving -----------------------------------------------------------------------------------

    def _move_chunk(self, group: str, ids: Sequence[int], report: MoveReport) -> int:
        for _ in range(MAX_ATTEMPTS):
            self._watch_target()
            letters = self._look_at(group, ids)
            replies = self._transact(group, letters)
            if replies is not None:
                self._account(letters, replies, report)
                return len(letters)
        raise MoveFailed(f"{self._to}: gave up, because others kept writing to it")

    def _watch_target(self) -> None:
        """Watch the stream of dead letters, and check that it accepts more entries.

        A failing command does not undo a transaction, so none of its XADDs may fail.
        """
        self._connection.call("WATCH", self._to)
        kind = self._connection.call("TYPE", self._to)
        if kind not in (b"none", b"stream"):
            raise MoveFailed(f"{self._to} holds a {kind.decode()}, not a stream")
        if kind == b"stream":
            info = self._connection.call("XINFO", "STREAM", self._to)
            last_id = parse_id(info[info.index(b"last-generated-id") + 1])
            if last_id > MAX_ID - self._chunk_entries:
                raise MoveFailed(f"{self._to} has no IDs left")

    def _transact(self, group: str, letters: Sequence[DeadLetter]) -> list[Reply] | None:
        """Run the transaction; return its replies, None if the watch failed."""
        requests = [one for letter in letters for one in self._requests(group, letter)]
        replies = self._connection.call_all([("MULTI",), *requests, ("EXEC",)])
        try:
            return exec_reply(replies)
        except ServerError as refused:
            raise MoveFailed(str(refused)) from None

    def _requests(self, group: str, letter: DeadLetter) -> list[Sequence[Word]]:
        """Return the requests that copy and acknowledge an entry; a missing one is not copied."""
        acknowledge = ("XACK", self._stream, group, format_id(letter.entry.id))
        if letter.fields is not None:
            return [("XADD", self._to, "*", *self._words(group, letter)), acknowledge]
        return [acknowledge] if self._drops_missing else []

    def _words(self, group: str, letter: DeadLetter) -> list[bytes]:
        """Return the dead letter's fields."""
        assert letter.fields is not None
        return dead_letter(
            letter.fields,
            stream=self._stream,
            group=group,
            consumer=letter.entry.consumer,
            entry_id=format_id(letter.entry.id),
            deliveries=letter.entry.deliveries,
            delivered_ms=letter.delivered_ms,
            cause=self._rules.cause(letter.entry),
            error=self._rules.error(letter.entry),
        )

    def _account(
        self, letters: Sequence[DeadLetter], replies: Sequence[Reply], report: MoveReport
    ) -> None:
        """Update the report, and delete copies of entries that a consumer acknowledged."""
        failed = [reply for reply in replies if isinstance(reply, ServerError)]
        if failed:
            raise MoveFailed(str(failed[0]))
        superfluous: list[bytes] = []
        remaining = iter(replies)
        for letter in letters:
            if letter.fields is not None:
                copy, acknowledged = next(remaining), next(remaining)
                report.moved += acknowledged
                if acknowledged:
                    report.moved_ids.append(letter.entry.id)
                else:
                    superfluous.append(copy)
            else:
                report.missing.append(letter.entry.id)
                report.dropped += next(remaining) if self._drops_missing else 0
        if superfluous:
            self._connection.call("XDEL", self._to, *superfluous)
            report.taken_back += len(superfluous)
