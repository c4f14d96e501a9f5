"""A group with a policy beside a model that follows the table of events word by word.

The model keeps plain dicts, and computes what is due whenever it is asked. The clock is
moved by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from storage.groups.group import MAX_DELIVERIES
from tests.commands.streams.policies.workers import START_MS, Workers, numbers_of
from tests.support.examples import examples

CONSUMERS = ["a", "b", "c"]
COUNTS = [None, 1, 1, 2, 4]
BIG = 10**9


@dataclass
class Pending:
    """A pending entry; `due_ms` counts where it has no owner."""

    owner: str
    delivered_ms: int
    deliveries: int
    due_ms: int = 0
    reason: str | None = None


@dataclass
class Model:
    """The group; entries are numbers."""

    now_ms: int
    wait_ms: int = 10
    pauses: list[int] = field(default_factory=list)
    most: int = 0
    most_pending: int = 0
    alive: list[int] = field(default_factory=list)
    position: int = 0
    pending: dict[int, Pending] = field(default_factory=dict)
    dead: list[tuple[int, str, str]] = field(default_factory=list)
    row: int = 0

    # -- when ----------------------------------------------------------------------------------

    def pause_ms(self, deliveries: int) -> int:
        return self.pauses[min(max(deliveries, 1), len(self.pauses)) - 1] if self.pauses else 0

    def is_exhausted(self, entry: Pending) -> bool:
        return 0 < self.most <= entry.deliveries

    def due_ms(self, entry: Pending) -> int:
        if not entry.owner:
            return entry.due_ms
        pause_ms = 0 if self.is_exhausted(entry) else self.pause_ms(entry.deliveries)
        return entry.delivered_ms + self.wait_ms + pause_ms

    def due(self) -> list[int]:
        """What a read may give again, in its order."""
        found = [
            (self.due_ms(entry), number)
            for number, entry in self.pending.items()
            if not self.is_exhausted(entry) and self.due_ms(entry) <= self.now_ms
        ]
        return [number for _, number in sorted(found)]

    def tick(self) -> None:
        """What is dead moves."""
        for number, entry in sorted(self.pending.items()):
            if self.is_exhausted(entry) and self.due_ms(entry) <= self.now_ms:
                released = "fatal" if entry.deliveries == MAX_DELIVERIES else "failed"
                self.bury(number, "deadline" if entry.owner else released)

    def bury(self, number: int, cause: str) -> None:
        entry = self.pending.pop(number)
        if number in self.alive:
            self.dead.append((number, cause, entry.reason or cause))

    # -- reading -------------------------------------------------------------------------------

    def room(self, wanted: int) -> int:
        if not self.most_pending:
            return BIG
        if self.in_flight(with_ghosts=True) + wanted > self.most_pending:
            for number in [number for number in self.pending if number not in self.alive]:
                del self.pending[number]
        return max(self.most_pending - self.in_flight(with_ghosts=True), 0)

    def in_flight(self, *, with_ghosts: bool) -> int:
        return sum(
            bool(entry.owner) and (with_ghosts or number in self.alive)
            for number, entry in self.pending.items()
        )

    def waiting(self) -> list[int]:
        return [number for number in self.alive if number > self.position]

    def read(self, consumer: str, count: int | None, *, noack: bool) -> list[int]:
        wanted = BIG if count is None else count
        self.stopped = self.was_due = False
        given = [] if noack else self.redeliver(consumer, wanted, count is None)
        ends = self.most > 0 and any(self.pending[n].deliveries == self.most for n in given)
        rest = wanted - len(given)
        if ends or self.stopped:
            rest = 0
        elif not noack:
            rest = min(rest, self.room(rest))
            if self.most == 1:
                rest = min(rest, 0 if given else 1)
        new = self.waiting()[:rest]
        for number in new:
            self.position = number
            if not noack:
                self.pending[number] = Pending(consumer, self.now_ms, 1)
        if new and self.was_due:
            self.row = max(0, self.row - 3 * len(new))
        return given + new

    stopped: bool = False  # the last read
    was_due: bool = False  # anything, at that read

    def redeliver(self, consumer: str, wanted: int, takes_all: bool) -> list[int]:
        room = self.room(wanted)
        due = [n for n in self.due() if room or self.pending[n].owner]
        if not due:
            return []
        self.was_due = True
        self.row = min(self.row, 3)
        limit = wanted
        if not takes_all and room:
            reserved = min((wanted + self.row) // 4, room)
            limit -= len(self.waiting()[:reserved])
        given: list[int] = []
        for number in due:
            entry = self.pending[number]
            if len(given) == limit:
                break
            if not entry.owner and not room:
                continue
            if number not in self.alive:
                del self.pending[number]
                continue
            is_last = 0 < self.most <= entry.deliveries + 1
            if is_last and given:
                self.stopped = True
                break
            given.append(number)
            room -= not entry.owner
            self.deliver(number, consumer)
            if is_last:
                self.stopped = True
                break
        self.row += len(given)
        return given

    def deliver(self, number: int, consumer: str) -> None:
        entry = self.pending[number]
        entry.owner, entry.delivered_ms = consumer, self.now_ms
        entry.deliveries = min(entry.deliveries + 1, MAX_DELIVERIES)

    def history(self, consumer: str) -> list[int]:
        answered: list[int] = []
        for number, entry in sorted(self.pending.items()):
            if entry.owner != consumer:
                continue
            if self.now_ms < entry.delivered_ms + self.wait_ms:
                answered.append(number)
            elif self.is_exhausted(entry):
                continue
            elif number not in self.alive:
                del self.pending[number]
            elif 0 < self.most <= entry.deliveries + 1:
                if not answered:
                    answered.append(number)
                    self.deliver(number, consumer)
                break
            else:
                answered.append(number)
                self.deliver(number, consumer)
        return answered

    # -- consumers -----------------------------------------------------------------------------

    def release(self, number: int, mode: str, delay_ms: int | None, reason: str | None) -> bool:
        entry = self.pending.get(number)
        if entry is None:
            return False
        entry.reason = reason
        if self.most and (mode == "FATAL" or (mode == "FAIL" and self.is_exhausted(entry))):
            self.bury(number, "fatal" if mode == "FATAL" else "failed")
            return True
        if mode == "SILENT":
            entry.deliveries = max(entry.deliveries - 1, 0)
        elif mode == "FATAL":
            entry.deliveries = MAX_DELIVERIES
        wait_ms = self.pause_ms(1 if mode == "SILENT" else entry.deliveries)
        if delay_ms is not None:
            wait_ms = delay_ms
        entry.owner, entry.delivered_ms, entry.due_ms = "", 0, self.now_ms + wait_ms
        return True

    def claim(self, number: int, consumer: str, *, just_id: bool) -> bool:
        entry = self.pending.get(number)
        if entry is None:
            return False
        if number not in self.alive:
            del self.pending[number]
            return False
        is_in_time = self.now_ms < entry.delivered_ms + self.wait_ms
        if not just_id and not (entry.owner == consumer and is_in_time):
            entry.deliveries = min(entry.deliveries + 1, MAX_DELIVERIES)
        entry.owner, entry.delivered_ms = consumer, self.now_ms
        return True

    def autoclaim(self, consumer: str, idle_ms: int) -> list[int]:
        claimed: list[int] = []
        for number, entry in sorted(self.pending.items()):
            if number not in self.alive:
                del self.pending[number]
            elif self.is_exhausted(entry):
                continue
            elif (
                entry.due_ms <= self.now_ms
                if not entry.owner
                else (self.now_ms - entry.delivered_ms >= idle_ms)
            ):
                self.deliver(number, consumer)
                claimed.append(number)
        return claimed


class Pair:
    """A server and the model; each method puts one event to both."""

    def __init__(self) -> None:
        self.workers = Workers("ACK-WAIT 10")
        self.model = Model(START_MS)
        self.last = 0

    def add(self, number: int) -> None:
        for _ in range(number):
            self.last += 1
            self.workers.add(self.last)
            self.model.alive.append(self.last)

    def pass_time(self, ms: int) -> None:
        self.model.now_ms += ms
        self.workers.server.advance(ms)
        self.model.tick()

    def read(self, consumer: str, count: int | None, noack: bool) -> None:
        options = ("" if count is None else f"COUNT {count}") + (" NOACK" if noack else "")
        expected = self.model.read(consumer, count, noack=noack)
        assert self.workers.read(consumer, options) == expected

    def history(self, consumer: str) -> None:
        expected = self.model.history(consumer)
        assert self.workers.read(consumer, after="0") == expected

    def acknowledge(self, numbers: list[int]) -> None:
        reply = self.workers.talk.do("XACK jobs g " + ids(numbers))
        assert reply == sum(self.model.pending.pop(n, None) is not None for n in numbers)

    def release(
        self, numbers: list[int], mode: str, delay_ms: int | None, reason: str | None
    ) -> None:
        if mode == "FATAL":
            delay_ms = None
        options = "" if delay_ms is None else f" DELAY {delay_ms}"
        options += "" if reason is None else f" REASON {reason}"
        reply = self.workers.talk.do(
            f"XNACK jobs g {mode} IDS {len(numbers)} {ids(numbers)}{options}"
        )
        assert reply == sum(self.model.release(n, mode, delay_ms, reason) for n in numbers)

    def claim(self, consumer: str, numbers: list[int], just_id: bool) -> None:
        option = " JUSTID" if just_id else ""
        reply = self.workers.talk.do(f"XCLAIM jobs g {consumer} 0 {ids(numbers)}{option}")
        expected = [n for n in numbers if self.model.claim(n, consumer, just_id=just_id)]
        assert len(reply) == len(expected)

    def autoclaim(self, consumer: str, idle_ms: int) -> None:
        reply = self.workers.talk.do(f"XAUTOCLAIM jobs g {consumer} {idle_ms} 0")
        assert numbers_of([[b"jobs", reply[1]]]) == self.model.autoclaim(consumer, idle_ms)

    def delete(self, numbers: list[int]) -> None:
        self.workers.talk.do("XDEL jobs " + ids(numbers))
        self.model.alive = [number for number in self.model.alive if number not in numbers]

    def leave(self, consumer: str) -> None:
        self.workers.talk.do(f"XGROUP DELCONSUMER jobs g {consumer}")
        for number, entry in list(self.model.pending.items()):
            if entry.owner != consumer:
                continue
            if number in self.model.alive:
                entry.owner, entry.delivered_ms, entry.due_ms = "", 0, 0
            else:
                del self.model.pending[number]

    def configure(self, wait_ms: int, pauses: list[int], most: int, most_pending: int) -> None:
        words = f"ACK-WAIT {wait_ms} BACKOFF {' '.join(map(str, pauses))} MAX-DELIVERIES {most}"
        request = f"XGROUP CONFIG jobs g {words} MAX-PENDING {most_pending} DEAD-LETTER".split()
        dead_letter = "dead" if most else ""
        assert self.workers.talk.client.execute(*request, dead_letter) == b"+OK\r\n"
        model = self.model
        model.wait_ms, model.pauses = wait_ms, pauses if any(pauses) else []
        model.most, model.most_pending = most, most_pending
        self.pass_time(1)  # the timer acts

    def compare(self) -> None:
        """What is pending, what is dead, and what is reported."""
        model, workers = self.model, self.workers
        assert workers.pending() == {
            number: (entry.owner, entry.deliveries) for number, entry in model.pending.items()
        }
        letters = [
            (int(letter["n"]), letter["rillway-cause"], letter["rillway-error"])
            for letter in workers.letters()
        ]
        assert sorted(letters) == sorted(model.dead)
        info = workers.info()
        assert info["due"] == len(model.due())
        assert info["in-flight"] == model.in_flight(with_ghosts=False)
        reasons = sum(entry.reason is not None for entry in model.pending.values())
        assert info["reasons"] == reasons


def ids(numbers: list[int]) -> str:
    return " ".join(f"{number}-1" for number in numbers)


def play(chance: Random, steps: int) -> None:
    """Random events, after each of which both must be in the same state."""
    pair = Pair()

    def some(most: int) -> list[int]:
        return chance.sample(range(1, 13), chance.randint(1, most))

    events: dict[str, Callable[[], tuple[Any, ...]]] = {
        "add": lambda: (chance.randint(1, 3),),
        "pass_time": lambda: (chance.choice([1, 3, 9, 10, 30]),),
        "read": lambda: (chance.choice(CONSUMERS), chance.choice(COUNTS), chance.random() < 0.1),
        "history": lambda: (chance.choice(CONSUMERS),),
        "acknowledge": lambda: (some(4),),
        "release": lambda: (
            some(4),
            chance.choice(["SILENT", "FAIL", "FAIL", "FATAL"]),
            chance.choice([None, None, 0, 25]),
            chance.choice([None, "why"]),
        ),
        "claim": lambda: (chance.choice(CONSUMERS), some(4), chance.random() < 0.5),
        "autoclaim": lambda: (chance.choice(CONSUMERS), chance.choice([0, 5])),
        "delete": lambda: (some(1),),
        "leave": lambda: (chance.choice(CONSUMERS),),
        "configure": lambda: (
            chance.choice([5, 10, 20]),
            chance.choices([0, 3, 20], k=chance.randint(1, 3)),
            chance.choice([0, 0, 1, 2, 3]),
            chance.choice([0, 0, 2, 4]),
        ),
    }
    names = [*events, "pass_time", "read", "read", "read"]
    story: list[object] = []
    for _ in range(steps):
        name = chance.choice(names)
        arguments = events[name]()
        story.append((name, *arguments))
        try:
            getattr(pair, name)(*arguments)
            pair.compare()
        except AssertionError as error:
            raise AssertionError(f"{error} after {story}") from error


def test_each_event_has_the_effect_that_the_table_says() -> None:
    for seed in range(examples(250)):
        play(Random(seed), 50)
