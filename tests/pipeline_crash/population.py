"""Many streams, who writes to them, and what a server and an archive must have of them in the end.

Each entry of a stream has a number, one more than the one before. The ledger knows of each what its
producer was told: nothing (it may be there or not), that it was added, or that all replicas have it
as well: while Sentinel promotes one, another one may still follow the old primary. What was added
may be lost where a primary dies; see `Gaps`. What replicas have may not, and nothing may be there
twice or in another order, whatever happens.

Who deletes takes what is archived, so what was deleted must be in the result as well, unless
another program was about to delete its row.
"""

from __future__ import annotations

import random
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa

from rillway.pipeline.archive.limits import ALL, CURRENT
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query.history import open_history
from rillway.pipeline.wire.connection import (
    Connection,
    ConnectionLost,
    ServerError,
)
from rillway.pipeline.wire.ids import format_id

UNKNOWN, ADDED, HELD = range(3)
WAIT_MS = 500
PAUSE_SECONDS = 0.05
# Streams that are written to in one pipeline.
TOGETHER = 20
# How much another program deletes at once.
REMOVED_STREAMS, REMOVED_ROWS = 3, 5
# A server that is away, or has no replica.
RETRY_SECONDS = 0.2


@dataclass(slots=True)
class Numbers:
    """What is known of the entries of a stream, by their numbers. `times`: when it was learned;
    `deleted`: what was deleted, or may have been; `removed`: what another program has deleted from
    the archive, or tried to.
    """

    known: bytearray = field(default_factory=bytearray)
    times: array[float] = field(default_factory=lambda: array("d"))
    deleted: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)

    def take(self, count: int) -> range:
        """The next numbers."""
        begin = len(self.known)
        self.known.extend(bytes(count))
        self.times.extend([0.0] * count)
        return range(begin, begin + count)


@dataclass(slots=True)
class Gaps:
    """The times in which a server may have taken entries that no other one has; `cuts`: those in
    which it has.
    """

    times: list[tuple[float, float]] = field(default_factory=list)
    cuts: list[tuple[float, float]] = field(default_factory=list)

    def explain(self, moment: float) -> bool:
        return is_within(moment, self.times) or is_within(moment, self.cuts)


def is_within(moment: float, times: Sequence[tuple[float, float]]) -> bool:
    return any(begin <= moment <= end for begin, end in times)


class Population:
    """The streams. `url`: of the server of now; `replicas`: all that it has when all is well."""

    def __init__(self, url: Callable[[], str], count: int, seed: int, replicas: int) -> None:
        self._url, self._replicas = url, replicas
        self._chance = random.Random(seed)
        self.names = [f"s:{number:03}" for number in range(count)]
        self.ledger = {name: Numbers() for name in self.names}
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    # -- who writes -------------------------------------------------------------------------------

    def begin(self, archive: str | None = None) -> None:
        """Write on, in a thread of its own; with `archive`, delete what is in it in another one."""
        self._ended.clear()
        steps: list[Callable[[Connection], None]] = [self._produce]
        if archive is not None:
            steps.append(lambda connection: self._delete(connection, archive))
        self._threads = [threading.Thread(target=self._repeat, args=(step,)) for step in steps]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def fill(self, each: int) -> None:
        """Add so many entries to each stream, and more of them to a few."""
        with Connection(self._url()) as connection:
            for some in (self.names[n : n + TOGETHER] for n in range(0, len(self.names), TOGETHER)):
                counts = [each * (8 if name.endswith("00") else 1) for name in some]
                self._add(connection, list(zip(some, counts, strict=True)))

    def _repeat(self, step: Callable[[Connection], None]) -> None:
        while not self._ended.is_set():
            try:
                with Connection(self._url()) as connection:
                    while not self._ended.wait(PAUSE_SECONDS):
                        step(connection)
            except (ConnectionLost, ServerError):
                self._ended.wait(RETRY_SECONDS)

    def _sample(self) -> list[str]:
        return self._chance.sample(self.names, min(TOGETHER, len(self.names)))

    def _produce(self, connection: Connection) -> None:
        """A few entries of some streams."""
        names = self._sample()
        self._add(connection, [(name, self._chance.randrange(1, 5)) for name in names])

    def _add(self, connection: Connection, counts: Sequence[tuple[str, int]]) -> None:
        """Raises ServerError for the first entry that the server does not take."""
        taken = [
            (name, number) for name, count in counts for number in self.ledger[name].take(count)
        ]
        requests: list[tuple[str | int, ...]] = [("XADD", s, "*", "n", n) for s, n in taken]
        requests.append(("WAIT", self._replicas, WAIT_MS))
        replies = connection.call_all(requests)
        now = time.monotonic()
        is_held = isinstance(replies[-1], int) and replies[-1] >= self._replicas
        for (name, number), reply in zip(taken, replies, strict=False):
            if not isinstance(reply, ServerError):
                self.ledger[name].known[number] = HELD if is_held else ADDED
                self.ledger[name].times[number] = now
        for reply in replies:
            if isinstance(reply, ServerError):
                raise reply

    def _delete(self, connection: Connection, archive: str) -> None:
        """Delete or trim what is archived, of some streams."""
        table = ArchiveTable.open(archive)
        for name in self._sample():
            end = table.end(name)
            if end is None:
                continue
            found = connection.call("XRANGE", name, "-", format_id(end.id), "COUNT", 50)
            if not found:
                continue
            if self._chance.random() < 0.3:
                some = found[: self._chance.randrange(len(found)) + 1]
                request = ["XTRIM", name, "MINID", some.pop()[0]]
            else:
                some = [entry for entry in found if self._chance.random() < 0.2]
                request = ["XDEL", name, *(entry[0] for entry in some)]
            if some:
                self.ledger[name].deleted.update(int(entry[1][1]) for entry in some)
                connection.call(*request)
        self._ended.wait(20 * PAUSE_SECONDS)

    def choose_removed(self, archive: str) -> str | None:
        """A condition for a few rows, which may be missing from now on; None if there are none."""
        table = ArchiveTable.open(archive)
        terms = []
        for name in self._chance.sample(self.names, min(REMOVED_STREAMS, len(self.names))):
            rows = [
                pair
                for _, batch in table.rows(name).batches()
                for pair in zip(batch.column("id").to_pylist(), numbers_of(batch), strict=True)
            ]
            chosen = self._chance.sample(rows, min(REMOVED_ROWS, len(rows)))
            self.ledger[name].removed.update(number for _, number in chosen)
            ids = ", ".join(f"'{entry_id}'" for entry_id, _ in chosen)
            terms += [f"(stream = '{name}' AND id IN ({ids}))"] if chosen else []
        return " OR ".join(terms) or None

    # -- what there is ----------------------------------------------------------------------------

    def judge(self, archive: str, gaps: Gaps) -> Verdict:
        """Compare what an archive and the server have with the ledger; nobody writes meanwhile."""
        verdict = Verdict()
        table = ArchiveTable.open(archive)
        for name in self.names:
            everything = self._numbers(name, archive, ALL)
            present = self._numbers(name, archive, CURRENT)
            verdict.look_at(name, self.ledger[name], everything, present, gaps)
            state = table.state(name)
            verdict.epochs += 0 if state is None else len(state.epochs)
        return verdict

    def _numbers(self, name: str, archive: str, epochs: str) -> list[int]:
        with open_history(self._url(), name, archive, epochs=epochs) as history:
            return [number for batch in history.batches() for number in numbers_of(batch)]


@dataclass(slots=True)
class Verdict:
    """What was found of all streams. `cut`: what only a primary had that was then killed; `saved`:
    what the archive has of that. `removed`: what is missing because another program has deleted
    it. `lost`: what a failover has lost, as it may; `apart`: what it has
    lost and the archive has, in an epoch that the present one does not follow from.
    """

    streams: int = 0
    added: int = 0
    held: int = 0
    found: int = 0
    lost: int = 0
    apart: int = 0
    cut: int = 0
    saved: int = 0
    deleted: int = 0
    removed: int = 0
    epochs: int = 0
    problems: list[str] = field(default_factory=list)

    def look_at(
        self, name: str, numbers: Numbers, everything: list[int], present: list[int], gaps: Gaps
    ) -> None:
        """`everything`: of all epochs; `present`: of the line of the present one."""
        known, times = numbers.known, numbers.times
        there = set(everything)
        self.streams += 1
        self.added += len(known) - known.count(UNKNOWN)
        self.held += known.count(HELD)
        self.found += len(everything)
        self.deleted += len(numbers.deleted)
        if len(there) != len(everything):
            self.problems.append(f"{name}: {len(everything) - len(there)} entries are there twice")
        if any(later <= earlier for earlier, later in pairwise(present)):
            self.problems.append(f"{name}: the entries are not in order")
        if there and max(there) >= len(known):
            self.problems.append(f"{name}: entry {max(there)} was never produced")
        missing = [n for n, told in enumerate(known) if told != UNKNOWN and n not in there]
        lost = [n for n in missing if n not in numbers.removed]
        self.removed += len(missing) - len(lost)
        # Two histories have in common what one of them has after it in memory, so a deleted entry
        # may be before the branch.
        gone = there.difference(present) - numbers.deleted - numbers.removed
        apart = [n for n in gone if known[n] != UNKNOWN]
        cut = [n for n, told in enumerate(known) if told and is_within(times[n], gaps.cuts)]
        self.cut += len(cut)
        self.saved += len(there.intersection(cut))
        self.lost += len(lost)
        self.apart += len(apart)
        for what, some in (("missing", lost), ("in another epoch alone", apart)):
            wrong = [n for n in some if known[n] == HELD or not gaps.explain(times[n])]
            if wrong:
                self.problems.append(
                    f"{name}: {len(wrong)} entries are {what}, the first is {min(wrong)}, "
                    f"of {len(known)}"
                )

    def lines(self) -> Iterator[str]:
        yield (
            f"{self.added:,} entries were added, {self.held:,} of them held by replicas; "
            f"{self.found:,} are found, {self.deleted:,} were deleted after they were archived, "
            f"{self.removed:,} by another program from the archive"
        )
        yield (
            f"{self.lost:,} are lost with the primary that had them; {self.cut:,} were written "
            f"while replicas were cut off, and the archive has {self.saved:,} of these"
        )
        yield (
            f"{self.epochs:,} epochs of {self.streams:,} streams; {self.apart:,} entries are in "
            "some that the present ones do not follow from"
        )
        yield from self.problems


def numbers_of(batch: pa.RecordBatch) -> list[int]:
    """The one field that each entry has."""
    values = batch.column("fields").flatten().field("value")
    numbers: list[int] = values.cast(pa.string()).cast(pa.int64()).to_pylist()
    return numbers
