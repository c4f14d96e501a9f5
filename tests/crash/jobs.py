"""Jobs of a group with deadlines, delays, retries and dead letters, while servers die.

Workers and a producer write down what they were told. After a crash, what the server holds must
agree with it, for each job that nothing later than the loss has touched:

* it is there once: scheduled, in the stream, or a dead letter;
* what was acknowledged is neither pending, nor delivered again, nor dead;
* what is neither pending nor ahead of the group was acknowledged, or is dead, once;
* no job was delivered more often than MAX-DELIVERIES, or than the group has counted;
* with KEY-FIELD, the jobs of a customer are delivered in the order in which they were added;
* no delayed job appeared early; the policy is there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.crash.expectation import Wrong
from tests.crash.observation import Ask
from tests.crash.workload import Request, Step, is_refusal

STREAM, GROUP, DEAD = b"jobs", b"workers", b"jobs:dead"
MAX_DELIVERIES = 3
OPTIONS: dict[bytes, bytes] = {
    b"ACK-WAIT": b"40", b"BACKOFF": b"5 20", b"MAX-DELIVERIES": b"%d" % MAX_DELIVERIES,
    b"DEAD-LETTER": DEAD, b"MAX-PENDING": b"40",
}  # fmt: skip
KEYED: dict[bytes, bytes] = {b"KEY-FIELD": b"customer", b"KEY-LOOKAHEAD": b"30"}
CUSTOMERS = 5
NEVER_MS = 1 << 62
DRAIN_STEPS = 2_000
DRAIN_WAIT_MS = 20


@dataclass
class Job:
    """What is known of a job."""

    number: int
    touched_ms: int  # when something of it was sent or answered, Unix ms
    ticket: bytes = b""  # of a delay
    is_added: bool = False  # the server said so
    delivered: int = 0
    is_acknowledgement_sent: bool = False
    acknowledged: int = 0  # the event in which the server said so; 0: it did not
    is_fatal: bool = False  # the server took a failure for good


@dataclass(frozen=True)
class Sent:
    """A request that waits for its reply. `job`: what it names. `at`: the event of sending."""

    kind: str
    job: Job | None
    at: int


@dataclass
class Jobs:
    """All jobs of one folder."""

    chance: random.Random
    retains: bool = False  # RETAIN-ACKED: what is done is removed
    is_keyed: bool = False  # KEY-FIELD
    jobs: dict[int, Job] = field(default_factory=dict)  # by number
    ids: dict[bytes, Job] = field(default_factory=dict)  # that were delivered, by entry
    connections: list[JobConnection] = field(default_factory=list)
    configured_ms: int = NEVER_MS
    events: int = 0
    # The last entry of each customer that was delivered for the first time.
    reached: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def drawn(cls, chance: random.Random) -> Jobs:
        """Each kind in a half of the cases."""
        own = random.Random(chance.random())
        return cls(own, retains=own.random() < 0.5, is_keyed=own.random() < 0.5)

    @property
    def options(self) -> dict[bytes, bytes]:
        """The policy of the group."""
        return OPTIONS | KEYED if self.is_keyed else OPTIONS

    def connect(self) -> JobConnection:
        """A connection; those of a server that died are forgotten by `check`."""
        self.connections.append(JobConnection(self))
        return self.connections[-1]

    def configure(self, ask: Ask, now_ms: int) -> None:
        """Create the group with its policy, unless it is there."""
        ask("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM")
        if not ask("XINFO", "POLICY", STREAM, GROUP):
            words = [
                word for name, value in self.options.items() for word in (name, *value.split())
            ]
            replies = [ask("XGROUP", "CONFIG", STREAM, GROUP, *words)]
            if self.retains:
                replies.append(ask("XCFGSET", STREAM, "RETAIN-ACKED", "yes"))
            if all(reply == b"OK" for reply in replies):
                self.configured_ms = now_ms

    def note_first(self, customer: bytes, entry: bytes, job: Job) -> None:
        """Raises Wrong if a job comes after a later one of its customer."""
        if self.is_keyed and id_of(entry) < self.reached.get(customer, (0, 0)):
            raise Wrong(f"{job} of customer {customer!r} comes after {self.reached[customer]}")
        self.reached[customer] = id_of(entry)

    def next_event(self) -> int:
        self.events += 1
        return self.events

    # -- what must be there ----------------------------------------------------------------------

    def check(self, ask: Ask, lossless_until_ms: int) -> None:
        """Compare with what a server holds; forget what may be lost. Raises Wrong."""
        unanswered = {job.number for one in self.connections for job in one.named()}
        self.connections.clear()
        if self.configured_ms <= lossless_until_ms:
            check_policy(ask, self.options)
        else:
            self.configured_ms = NEVER_MS
        held = Held.of(ask)
        known = [job for job in self.jobs.values() if job.touched_ms <= lossless_until_ms]
        for job in known:
            held.once(job)
            if job.number not in unanswered:
                self.check_job(job, held)
        # Of what may be lost, the server's account is believed from here on. What a lost reply has
        # delivered comes a second time to be a first one here.
        self.reached.clear()
        self.jobs = {job.number: job for job in known if job.number not in unanswered}
        self.ids = {entry: job for entry, job in self.ids.items() if job.number in self.jobs}

    def check_job(self, job: Job, held: Held) -> None:
        """Raises Wrong if the server's account contradicts what is known."""
        entry = held.entries.get(job.number)
        in_schedule, is_dead = job.number in held.scheduled, job.number in held.dead
        if not job.is_added:
            return
        if entry is None and not in_schedule:
            is_settled = is_dead or job.is_acknowledgement_sent
            self.insist(self.retains and is_settled, job, "is gone")
            return
        if in_schedule:
            self.insist(not job.delivered and not is_dead, job, "is scheduled again")
            return
        assert entry is not None
        if job.ticket:
            self.insist(
                milliseconds(entry) >= milliseconds(job.ticket), job, f"is early: {entry!r}"
            )
        count = held.pending.get(entry)
        is_ahead = id_of(entry) > held.last_id
        if job.acknowledged:
            self.insist(count is None and not is_ahead and not is_dead, job, "comes again")
        elif count is not None:
            self.insist(not is_dead and not is_ahead, job, "is pending, and elsewhere too")
            self.insist(job.delivered <= count <= MAX_DELIVERIES, job, f"was counted {count} times")
            self.insist(not job.is_fatal, job, "has failed for good, and is pending")
        elif is_ahead:
            self.insist(not job.delivered and not is_dead, job, "is new again")
        else:
            self.insist(is_dead or job.is_acknowledgement_sent, job, "is neither done nor dead")
        if is_dead:
            self.insist(
                job.delivered <= held.dead[job.number] <= MAX_DELIVERIES, job,
                f"died after {held.dead[job.number]} deliveries",
            )  # fmt: skip

    def insist(self, holds: bool, job: Job, text: str) -> None:
        if not holds:
            raise Wrong(f"{job} {text}")

    # -- until all is done -----------------------------------------------------------------------

    def drain(self, ask: Ask, wait: Callable[[int], None], clock: Callable[[], int]) -> None:
        """Work off all jobs; `wait` lets ms pass, `clock` is Unix ms.

        Raises Wrong if some never come.
        """
        for _ in range(DRAIN_STEPS):
            found = ask("XREADGROUP", "GROUP", GROUP, "last", "COUNT", 100, "STREAMS", STREAM, ">")
            if isinstance(found, Exception):
                return  # there is no group yet, or the disk is full
            for entry, fields in found[0][1] if found else []:
                if ask("XACK", STREAM, GROUP, entry) == 1:
                    self.settle(entry, fields, clock())
            held = Held.of(ask)
            if not held.scheduled and not held.pending and not held.is_ahead():
                return
            wait(DRAIN_WAIT_MS)
        raise Wrong(f"jobs are left: {held.pending or held.scheduled or held.last_id}")

    def settle(self, entry: bytes, fields: list[bytes], now_ms: int) -> None:
        job = self.jobs.get(int(fields[1]))
        if job is not None:
            self.ids[entry] = job
            job.touched_ms = now_ms
            job.delivered += 1
            job.is_acknowledgement_sent = True
            job.acknowledged = self.next_event()


@dataclass
class Held:
    """What a server holds, by the numbers of jobs; `pending`: counts of deliveries, by entry."""

    scheduled: dict[int, bytes]
    entries: dict[int, bytes]
    dead: dict[int, int]  # deliveries
    pending: dict[bytes, int]
    last_id: tuple[int, int]

    @classmethod
    def of(cls, ask: Ask) -> Held:
        """Raises Wrong if a job is there twice."""
        groups = ask("XINFO", "GROUPS", STREAM)
        if isinstance(groups, Exception) or not groups:
            return cls({}, {}, {}, {}, (0, 0))
        info = dict(zip(groups[0][::2], groups[0][1::2], strict=True))
        dead: dict[int, int] = {}
        for _, words in ask("XRANGE", DEAD, "-", "+") or []:
            fields = dict(zip(words[::2], words[1::2], strict=True))
            number = int(fields[b"n"])
            if number in dead:
                raise Wrong(f"job {number} has two dead letters")
            dead[number] = int(fields[b"rillway-deliveries"])
        return cls(
            by_number(ask("XSCHEDULED", STREAM)),
            by_number(ask("XRANGE", STREAM, "-", "+")),
            dead,
            {row[0]: row[3] for row in ask("XPENDING", STREAM, GROUP, "-", "+", 1_000_000)},
            id_of(info[b"last-delivered-id"]),
        )  # fmt: skip

    def once(self, job: Job) -> None:
        if job.number in self.entries and job.number in self.scheduled:
            raise Wrong(f"{job} is scheduled, and added too")

    def is_ahead(self) -> bool:
        """Whether something was never delivered."""
        return any(id_of(entry) > self.last_id for entry in self.entries.values())


class JobConnection:
    """Draws requests of a producer and worker, and reads their replies."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        # Its own, so that what it is told of a customer is told in order.
        self.names = [b"worker-%d-%d" % (len(jobs.connections), number) for number in range(2)]
        self.random = jobs.chance
        self.unanswered: list[Sent] = []
        self.in_hand: list[bytes] = []

    def named(self) -> list[Job]:
        return [sent.job for sent in self.unanswered if sent.job is not None]

    def draw(self, count: int, now_ms: int) -> list[Step]:
        """The next request, whatever the count."""
        kind = self.random.choices(("add", "read", "settle", "late"), (4, 3, 6, 1))[0]
        if kind == "late" and self.jobs.ids:
            entry = self.random.choice(list(self.jobs.ids))
            return self.sends("ack", entry, now_ms, b"XACK", STREAM, GROUP, entry)
        if kind == "settle" and self.in_hand:
            return self.settle(self.in_hand.pop(), now_ms)
        if kind == "read":
            words = [b"COUNT", b"%d" % self.random.choice((1, 5, 20)), b"STREAMS", STREAM, b">"]
            if self.random.random() < 0.3:
                words[:0] = [b"BLOCK", b"15"]
            argv = (b"XREADGROUP", b"GROUP", GROUP, self.random.choice(self.names), *words)
            return self.sends("read", None, now_ms, *argv)
        return self.add(now_ms)

    def add(self, now_ms: int) -> list[Step]:
        job = Job(self.jobs.next_event(), now_ms)
        self.jobs.jobs[job.number] = job
        delay = [b"DELAY", self.random.choice((b"0", b"10", b"60", b"300"))]
        is_delayed = self.random.random() < 0.4
        words = [*(delay if is_delayed else []), b"*", b"n", b"%d" % job.number]
        words += [b"customer", b"%d" % self.random.randrange(CUSTOMERS)]
        self.unanswered.append(Sent("delay" if is_delayed else "add", job, job.number))
        return step(b"XADD", STREAM, *words)

    def settle(self, entry: bytes, now_ms: int) -> list[Step]:
        kind = self.random.choices(("ack", "fail", "fatal", "none"), (10, 4, 1, 3))[0]
        if kind == "none":  # its time will be over
            return self.add(now_ms)
        if kind == "ack":
            return self.sends("ack", entry, now_ms, b"XACK", STREAM, GROUP, entry)
        words = [b"XNACK", STREAM, GROUP, kind.upper().encode(), b"IDS", b"1", entry]
        if kind == "fail" and self.random.random() < 0.3:
            words += [b"DELAY", self.random.choice((b"0", b"30"))]
        if self.random.random() < 0.5:
            words += [b"REASON", b"no such customer"]
        return self.sends(kind, entry, now_ms, *words)

    def sends(self, kind: str, entry: bytes | None, now_ms: int, *argv: bytes) -> list[Step]:
        """Send a request, which names an entry perhaps."""
        job = None if entry is None else self.jobs.ids.get(entry)
        if job is not None:
            job.touched_ms = now_ms
            job.is_acknowledgement_sent |= kind == "ack"
        self.unanswered.append(Sent(kind, job, self.jobs.next_event()))
        return step(*argv)

    def receive(self, reply: Any, now_ms: int) -> None:
        """The next reply. Raises Wrong if it contradicts an earlier one."""
        sent = self.unanswered.pop(0)
        if isinstance(reply, Exception):
            if not is_refusal(reply):
                raise Wrong(f"{sent} was answered {reply!r}")
            return
        job = sent.job
        if job is not None:
            job.touched_ms = now_ms
            if sent.kind in ("add", "delay"):
                job.is_added = True
                job.ticket = reply if sent.kind == "delay" else b""
            elif sent.kind == "ack" and reply == 1:
                if job.acknowledged or job.is_fatal:
                    raise Wrong(f"{job} was acknowledged twice, or after it died")
                job.acknowledged = self.jobs.next_event()
            elif sent.kind == "fatal" and reply == 1:
                job.is_fatal = True
        if sent.kind == "read" and reply:
            for entry, fields in reply[0][1]:
                self.deliver(entry, fields, sent, now_ms)

    def deliver(self, entry: bytes, fields: list[bytes], sent: Sent, now_ms: int) -> None:
        number, customer = int(fields[1]), fields[3]
        self.in_hand.append(entry)
        job = self.jobs.ids.get(entry)
        if job is None or job.number != number:
            job = self.jobs.jobs.get(number)
            if job is None:
                return  # of what may have been lost nothing is known
            self.jobs.ids[entry] = job
        job.touched_ms = now_ms
        job.delivered += 1
        if job.delivered == 1:
            self.jobs.note_first(customer, entry, job)
        if job.delivered > MAX_DELIVERIES:
            raise Wrong(f"{job} was delivered too often")
        if 0 < job.acknowledged < sent.at:
            raise Wrong(f"{job} was delivered after it was acknowledged")


def step(*argv: bytes) -> list[Step]:
    return [Step((Request(argv, lambda keys, facts: None),))]


def check_policy(ask: Ask, options: dict[bytes, bytes]) -> None:
    reply = ask("XINFO", "POLICY", STREAM, GROUP)
    found = dict(zip(reply[::2], reply[1::2], strict=True))
    for name, value in options.items():
        told = found.get(name.lower())
        told = b" ".join(b"%d" % one for one in told) if isinstance(told, list) else told
        if told not in (value, int(value) if value.isdigit() else None):
            raise Wrong(f"{name!r} is {told!r}, not {value!r}: {found}")


def by_number(entries: list[Any]) -> dict[int, bytes]:
    """IDs or tickets by the number in the body. Raises Wrong if one is there twice."""
    found: dict[int, bytes] = {}
    for entry, fields in entries:
        number = int(fields[1])
        if number in found:
            raise Wrong(f"job {number} is there twice: {found[number]!r}, {entry!r}")
        found[number] = entry
    return found


def milliseconds(entry: bytes) -> int:
    return id_of(entry)[0]


def id_of(entry: bytes) -> tuple[int, int]:
    ms, _, sequence = entry.partition(b"-")
    return int(ms), int(sequence)
