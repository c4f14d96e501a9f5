"""A group with a policy beside a model that follows the table of events word by word.

The model keeps plain dicts, and computes what is due whenever it is asked. The clock is
moved by hand. With `most_ahead`, the group orders its entries by key (KEY-FIELD).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from storage.groups.group import MAX_DELIVERIES
from storage.policies.rows import STATISTICS, rows_of
from tests.commands.streams.policies.workers import START_MS, Workers, numbers_of, sink_of
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
    is_reserved: bool = False  # not sent to its owner
    is_over: bool = False  # reserved, and found to have no delivery left


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
    most_ahead: int = 0  # KEY-LOOKAHEAD; 0: no order by key
    most_of_key: int = 0
    is_full: bool = False
    owners: dict[int, str] = field(default_factory=dict)  # who has had a key last
    passed: dict[int, int] = field(default_factory=dict)
    ahead: int = 0

    # -- keys ----------------------------------------------------------------------------------

    def key(self, number: int) -> int:
        return number % 4 if self.most_ahead and number in self.alive else 0

    def of_key(self, key: int) -> list[int]:
        """Its pending entries: a key that is 0 is none."""
        return sorted(n for n in self.pending if key and self.key(n) == key)

    def sent(self, key: int) -> list[int]:
        return [n for n in self.of_key(key) if self.is_sent(n)]

    def is_sent(self, number: int) -> bool:
        return bool(self.pending[number].owner) and not self.pending[number].is_reserved

    def held(self, key: int) -> list[int]:
        return [n for n in self.of_key(key) if not self.is_sent(n)]

    def released(self, key: int) -> list[int]:
        return [n for n in self.of_key(key) if not self.pending[n].owner]

    def is_alone(self, key: int) -> bool:
        return any(self.pending[n].deliveries > 1 for n in self.sent(key))

    def reserved_count(self) -> int:
        return sum(entry.is_reserved for entry in self.pending.values())

    def measure(self) -> None:
        if self.most_ahead and self.reserved_count() >= self.most_ahead:
            self.is_full = True
        if self.reserved_count() <= self.most_ahead * 3 // 4:
            self.is_full = False

    def drop_reserved_ghosts(self) -> None:
        for number, entry in list(self.pending.items()):
            if entry.is_reserved and number not in self.alive:
                del self.pending[number]

    def take_over(self, given: list[int], consumer: str) -> None:
        for number in given:
            for other in self.sent(self.key(number)):
                entry = self.pending[other]
                if other != number and not self.is_exhausted(entry):
                    entry.owner, entry.delivered_ms, entry.is_reserved = consumer, 0, True

    def reserve(self, number: int, consumer: str) -> None:
        key = self.key(number)
        owner = self.owners[key] if self.sent(key) else consumer
        self.pending[number] = Pending(owner, 0, 0, is_reserved=True)
        self.owners[key] = owner
        self.measure()

    def candidates(self, consumer: str) -> list[int]:
        """Reserved entries that a consumer may have."""
        found = []
        for key in (1, 2, 3):
            held, sent = self.held(key), self.sent(key)
            if held and not self.released(key):
                is_own = self.owners.get(key) == consumer and not self.is_alone(key)
                if not sent or is_own:
                    found.append(held[0])
        return sorted(found)

    def give_held(self, consumer: str, wanted: int, given: list[int]) -> list[int]:
        found: list[int] = []
        room = self.room(wanted)
        while not self.stopped and len(given) + len(found) < wanted and room:
            able = [n for n in self.candidates(consumer) if not self.pending[n].is_over]
            if not able:
                break
            entry = self.pending[able[0]]
            if self.is_exhausted(entry):
                entry.is_over = True
                continue
            is_last = 0 < self.most <= entry.deliveries + 1
            self.stopped = is_last
            if is_last and (given or found):
                break
            self.deliver(able[0], consumer)
            found.append(able[0])
            room -= 1
        self.measure()
        if found and self.was_due:
            self.row = max(0, self.row - 3 * len(found))
        if found and self.most == 1:
            self.stopped = True
        return found

    def look_at_passed(self, consumer: str) -> None:
        for key in list(self.passed):
            if self.is_full:
                return
            if len(self.held(key)) > self.most_of_key * 3 // 4:
                continue
            for number in self.alive:
                if not self.passed[key] <= number <= self.ahead or self.key(number) != key:
                    continue
                if len(self.held(key)) >= self.most_of_key or self.is_full:
                    self.passed[key] = number
                    break
                self.reserve(number, consumer)
            else:
                del self.passed[key]
        self.move(self.ahead)

    def move(self, ahead: int) -> None:
        self.ahead = ahead
        self.position = max(self.position, min(self.passed.values(), default=ahead + 1) - 1)

    def give_new(self, consumer: str, rest: int, *, noack: bool) -> list[int]:
        given: list[int] = []
        for number in self.waiting():
            if len(given) == rest or self.is_full:
                break
            key = self.key(number)
            pending, held = self.of_key(key), self.held(key)
            is_own = self.owners.get(key) == consumer and bool(self.sent(key))
            if not key or (key not in self.passed and not pending):
                is_given = True
            elif key in self.passed:
                is_given = False
            else:
                is_given = is_own and not held and not self.is_alone(key)
                if not is_given and len(held) >= self.most_of_key:
                    self.passed[key] = number
                elif not is_given:
                    self.reserve(number, consumer)
            if is_given:
                given.append(number)
                if not noack:
                    self.pending[number] = Pending(consumer, self.now_ms, 1)
                    self.owners[key] = consumer
            self.move(number)
        return given

    def has_turn(self, number: int) -> bool:
        """Return True if an entry may fall due, as far as its key goes."""
        entry, key = self.pending[number], self.key(number)
        if entry.is_reserved:
            return False
        if not key:
            return True
        if entry.owner:
            return self.sent(key)[0] == number
        return not self.sent(key) and not self.is_exhausted(self.pending[self.held(key)[0]])

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
            if not self.is_exhausted(entry)
            and self.due_ms(entry) <= self.now_ms
            and self.has_turn(number)
        ]
        return [number for _, number in sorted(found)]

    def takeable(self) -> list[int]:
        """The same, of keys whose released entries are all due, the one that was due last."""
        found = []
        for number in self.due():
            others = [] if self.pending[number].owner else self.released(self.key(number))
            latest_ms = max((self.pending[n].due_ms for n in others), default=0)
            if not others or self.pending[number].due_ms == latest_ms:
                found.append(number)
        return found

    def tick(self) -> None:
        """What is dead moves."""
        for number, entry in sorted(self.pending.items()):
            if entry.is_reserved and not entry.is_over:
                continue
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
            self.is_sent(number) and (with_ghosts or number in self.alive)
            for number in self.pending
        )

    def waiting(self) -> list[int]:
        return [number for number in self.alive if number > max(self.position, self.ahead)]

    def read(self, consumer: str, count: int | None, *, noack: bool) -> list[int]:
        wanted = BIG if count is None else count
        self.stopped = self.was_due = False
        self.drop_reserved_ghosts()
        self.look_at_passed(consumer)
        given = [] if noack else self.redeliver(consumer, [], wanted, count is None)
        if not noack and self.most_ahead:
            given += self.give_held(consumer, wanted, given)
        ends = self.most > 0 and any(self.pending[n].deliveries == self.most for n in given)
        rest = wanted - len(given)
        if ends or self.stopped:
            rest = 0
        elif not noack:
            rest = min(rest, self.room(rest))
            if self.most == 1:
                rest = min(rest, 0 if given else 1)
        new = self.give_new(consumer, rest, noack=noack)
        if new and self.was_due:
            self.row = max(0, self.row - 3 * len(new))
        if new and not noack and self.most == 1:
            self.stopped = True
        given += new
        if self.most_ahead and not noack and not self.stopped and len(given) < wanted:
            given += self.redeliver(consumer, given, wanted, takes_all=True)
        return given

    stopped: bool = False  # the last read
    was_due: bool = False  # anything, at that read

    def redeliver(
        self, consumer: str, before: list[int], wanted: int, takes_all: bool
    ) -> list[int]:
        self.row = min(self.row, 3)
        room = self.room(wanted)
        due = [n for n in self.takeable() if room or self.pending[n].owner]
        if not due:
            return []
        self.was_due = True
        limit = wanted
        if not takes_all and room:
            reserved = min((wanted + self.row) // 4, room)
            if not (self.most_ahead and self.candidates(consumer)):
                reserved = len(self.waiting()[:reserved])
            limit -= reserved
        given: list[int] = []
        for number in due:
            entry = self.pending[number]
            if len(before) + len(given) == limit:
                break
            was_released = not entry.owner
            if (was_released and not room) or not self.has_turn(number):
                continue
            if was_released and (held := self.held(self.key(number))):
                number = held[0]
                entry = self.pending[number]
                if self.is_exhausted(entry) or number in given:
                    continue
            if number not in self.alive:
                del self.pending[number]
                continue
            is_last = 0 < self.most <= entry.deliveries + 1
            if is_last and (before or given):
                self.stopped = True
                break
            given.append(number)
            room -= was_released
            self.deliver(number, consumer)
            if is_last:
                self.stopped = True
                break
        self.take_over(given, consumer)
        self.measure()
        self.row += len(given)
        return given

    def deliver(self, number: int, consumer: str) -> None:
        entry = self.pending[number]
        entry.owner, entry.delivered_ms = consumer, self.now_ms
        entry.deliveries = min(entry.deliveries + 1, MAX_DELIVERIES)
        entry.is_reserved = entry.is_over = False
        self.owners[self.key(number)] = consumer

    def history(self, consumer: str) -> list[int]:
        answered: list[int] = []
        if self.most_ahead:
            self.drop_reserved_ghosts()
        for number, entry in sorted(self.pending.items()):
            if entry.owner != consumer or entry.is_reserved:
                continue
            is_in_time = self.now_ms < entry.delivered_ms + self.wait_ms
            if is_in_time or not self.has_turn(number):
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
        entry.is_reserved = entry.is_over = False
        return True

    def claim(self, numbers: list[int], consumer: str, *, just_id: bool) -> list[int]:
        beats: list[int] = []
        taken: list[int] = []
        for number in numbers:
            entry = self.pending.get(number)
            if entry is None:
                continue
            if number not in self.alive:
                del self.pending[number]
                continue
            is_in_time = self.now_ms < entry.delivered_ms + self.wait_ms
            if entry.owner == consumer and is_in_time and not entry.is_reserved:
                beats.append(number)
            elif self.is_oldest(number):
                taken.append(number)
        for number in beats + taken:
            entry = self.pending[number]
            deliveries = entry.deliveries
            self.deliver(number, consumer)
            if just_id or number in beats:
                entry.deliveries = deliveries
        self.take_over(taken, consumer)
        return beats + taken

    def is_oldest(self, number: int) -> bool:
        return self.of_key(self.key(number))[:1] in ([], [number])

    def autoclaim(self, consumer: str, idle_ms: int) -> list[int]:
        claimed: list[int] = []
        for number, entry in sorted(self.pending.items()):
            if number not in self.alive:
                del self.pending[number]
            elif self.is_exhausted(entry) or entry.is_reserved or not self.is_oldest(number):
                continue
            elif (
                entry.due_ms <= self.now_ms
                if not entry.owner
                else (self.now_ms - entry.delivered_ms >= idle_ms)
            ):
                claimed.append(number)
        for number in claimed:
            self.deliver(number, consumer)
        self.take_over(claimed, consumer)
        return claimed


class Pair:
    """A server and the model; each method puts one event to both."""

    def __init__(self, most_ahead: int = 0, most_of_key: int = 0) -> None:
        keys = f" KEY-FIELD k KEY-LOOKAHEAD {most_ahead} KEY-LOOKAHEAD-KEY {most_of_key}"
        self.options = "ACK-WAIT 10" + (keys if most_ahead else "")
        self.workers = Workers(self.options)
        self.taken = sink_of(self.workers.server)
        self.model = Model(START_MS, most_ahead=most_ahead, most_of_key=most_of_key)
        self.last = 0

    def add(self, number: int) -> None:
        for _ in range(number):
            self.last += 1
            key = f" k {self.last % 4}" if self.last % 4 else ""
            self.workers.talk.do(f"XADD jobs {self.last}-1 n {self.last}{key}")
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
        expected = self.model.claim(numbers, consumer, just_id=just_id)
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
                entry.is_reserved = entry.is_over = False
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
        for entry in model.pending.values():
            entry.is_over = False
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
        model.measure()
        if model.most_ahead:
            figures = (model.reserved_count(), len(model.passed), int(model.is_full))
            fields = "reserved", "keys-passed", "key-held"
            assert tuple(info[name] for name in fields) == figures
            for key in (1, 2, 3):
                sent = [n for n in model.sent(key) if not model.is_exhausted(model.pending[n])]
                assert len({model.pending[n].owner for n in sent}) <= 1
        reasons = sum(entry.reason is not None for entry in model.pending.values())
        assert info["reasons"] == reasons

    def compare_replica(self) -> None:
        """What was propagated leads to the same state."""
        twin = Workers(self.options)
        twin.talk.replay(*self.taken())
        assert twin.pending() == self.workers.pending()
        rows = [self.rows(each) for each in (self.workers, twin)]
        assert rows[0] == rows[1]
        positions = [each.group().last_delivered_id for each in (self.workers, twin)]
        assert positions[0] == positions[1]

    def rows(self, workers: Workers) -> list[list[bytes]]:
        return [row for row in rows_of(workers.stream()) if row[0] not in STATISTICS]


def ids(numbers: list[int]) -> str:
    return " ".join(f"{number}-1" for number in numbers)


def play(chance: Random, steps: int, pair: Pair) -> None:
    """Random events, after each of which both must be in the same state."""

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
    pair.compare_replica()


def test_each_event_has_the_effect_that_the_table_says() -> None:
    for seed in range(examples(250)):
        play(Random(seed), 50, Pair())


def test_the_same_holds_for_entries_that_are_ordered_by_key() -> None:
    for seed in range(examples(250)):
        chance = Random(seed)
        bounds = chance.choice([(100, 100), (4, 100), (1, 1), (6, 2), (100, 1)])
        play(chance, 60, Pair(*bounds))
