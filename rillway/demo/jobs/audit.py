"""The audit of the demo: what became of each job, from streams and dead letters alone.

The ledger is a stream. A record says which jobs were added, that a worker has done a job, that its
XACK came too late, or that a worker has crashed. A job may be done more often than once only if the
worker that did it could not acknowledge it: it crashed, and the job is the last that it did, or it
was late, as others got the job after its deadline. Each other repetition is a defect.

Where the server keeps the jobs of a customer in order, those that are done at their first delivery
are done in the order of the stream. A retry, a deadline or a dead letter may come out of order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import redis

from rillway.dead_letter import HOPS
from rillway.demo.jobs.work import DEAD_LETTERS, JOBS, LEDGER
from rillway.demo.service import walk
from rillway.plurals import count_of

Record = Mapping[bytes, bytes]


class Books:
    """All jobs by their numbers, and the reasons why some were done more often than once."""

    def __init__(
        self,
        entries: Iterable[Record],
        ledger: Iterable[Record],
        dead_letters: Iterable[Record],
        *,
        in_order: bool,
    ) -> None:
        """`in_order`: whether the server keeps the jobs of each customer in order."""
        self.added = set[int]()
        self.done = Counter[int]()
        self.late = Counter[int]()
        self.again = set[int]()  # done at a later delivery than the first
        self.crashed = list[str]()
        self._last = dict[str, int]()  # the last job that a worker has done, if it was not late
        self._at_first = list[int]()  # done at the first delivery, in the order of the ledger
        for record in ledger:
            self._enter(record)
        self.dead = Counter(int(letter[b"job"]) for letter in dead_letters)
        self.delayed, self.returned = set[int](), set[int]()
        places = dict[int, tuple[bytes, int]]()  # the customer, and the place in the stream
        for place, entry in enumerate(entries):
            job = int(entry[b"job"])
            if entry[b"waits_ms"] != b"0":
                self.delayed.add(job)
            if HOPS in entry:
                self.returned.add(job)
            else:
                places[job] = entry[b"customer"], place
        self.disordered = self._overtaken(places) if in_order else set[int]()
        unacknowledged = [self._last[name] for name in self.crashed if name in self._last]
        self.crash = Counter(unacknowledged)

    def _enter(self, record: Record) -> None:
        event = record[b"event"]
        if event == b"added":
            self.added.update(range(int(record[b"first"]), int(record[b"last"]) + 1))
            return
        worker = record[b"worker"].decode()
        if event == b"crashed":
            self.crashed.append(worker)
            return
        job = int(record[b"job"])
        if event == b"late":
            self.late[job] += 1
            self._last.pop(worker, None)
        else:
            self.done[job] += 1
            self._last[worker] = job
            if record[b"deliveries"] == b"1":
                self._at_first.append(job)
            else:
                self.again.add(job)

    def _overtaken(self, places: Mapping[int, tuple[bytes, int]]) -> set[int]:
        """Jobs that were done at their first delivery, after a later one of their customer."""
        latest = dict[bytes, int]()
        overtaken = set[int]()
        for job in self._at_first:
            if self.done[job] > 1 or job in self.returned or job not in places:
                continue
            customer, place = places[job]
            if place < latest.get(customer, place):
                overtaken.add(job)
            latest[customer] = max(place, latest.get(customer, place))
        return overtaken

    @property
    def missing(self) -> set[int]:
        """Jobs that were added, and are neither done nor dead letters."""
        return self.added - self.done.keys() - self.dead.keys()

    @property
    def unknown(self) -> set[int]:
        """Jobs that were done or are dead letters, and were never added."""
        return (self.done.keys() | self.dead.keys()) - self.added

    @property
    def repeated(self) -> Counter[int]:
        """The number of times, beyond the first, that a job was done or became a dead letter."""
        found = (self.done + self.dead).items()
        return Counter({job: number - 1 for job, number in found if number > 1})

    @property
    def unexplained(self) -> Counter[int]:
        """Repetitions without a reason."""
        return self.repeated - self.crash - self.late

    @property
    def are_right(self) -> bool:
        return not (self.missing or self.unknown or self.unexplained or self.disordered)


def read_books(client: redis.Redis, *, in_order: bool) -> Books:
    """Read what a run has left on its server."""
    streams = [(record for _, record in walk(client, key)) for key in (JOBS, LEDGER, DEAD_LETTERS)]
    return Books(*streams, in_order=in_order)


def table(books: Books) -> Iterator[str]:
    """The lines that account for every job."""
    repeated = books.repeated.keys()
    rows = (
        ("added", len(books.added), "jobs"),
        ("  for later", len(books.delayed), ""),
        ("done", len(books.done), ""),
        ("  at a later delivery", len(books.again), "after a failure, a crash or a deadline"),
        ("  back from the dead", len(books.returned & books.done.keys()), "letters"),
        ("dead letters", len(books.dead), ""),
        ("done twice or more", len(repeated), ""),
        ("  after a crash", len(repeated & books.crash.keys()), "between the work and its XACK"),
        ("  after a deadline", len(repeated & books.late.keys()), "as their worker took too long"),
        ("  without a reason", len(books.unexplained), ""),
        ("out of order", len(books.disordered), "of their customer's jobs"),
        ("never added", len(books.unknown), ""),
        ("missing", len(books.missing), ""),
    )
    for name, number, remark in rows:
        yield f"  {name:<22}{number:>10,}  {remark}".rstrip()
    yield f"  {count_of(len(books.crashed), 'worker')} crashed."
