"""Finds the queues of a database, and measures them; no I/O. Driven like a Sampler.

`plan` returns requests for one pipeline, or nothing; `accept` takes their replies. SCAN walks the
database in the background, and each queue is measured in turn. All of it takes at most `share` of
the server's time (sampler/budget.py). Nothing is written, and KEYS is never sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rillway.json_bytes import to_json
from rillway.queues.frameworks import BY_NAME, FASTSTREAM, FRAMEWORKS
from rillway.queues.queue import NOTES, Figures, Find, Queue, Steps, number
from rillway.sampler.budget import Budget
from rillway.sampler.replies import Reply, Words, is_error, is_refusal, time_us

SHARE = 0.003
SCAN_COUNT = 1000
# A pass over all names begins at most this long after the one before.
PASS_EVERY_S = 10.0
MEASURE_EVERY_S = 1.0
# Keys with a name like a queue's that are none.
RETRY_EVERY_S = 60.0
LOOKED_AT = 100
# Lists whose first element is looked at, for frameworks whose names are free.
UNNAMED_LISTS = 1000
# Elements that are larger on average are not fetched.
FIRST_BYTES = 1 << 16
MOST_QUEUES = 10_000
# How often it is asked for when nothing was due.
IDLE_WAIT_S = 0.05
NEVER = float("-inf")


@dataclass(slots=True, eq=False)
class Known:
    """A queue, and what was found of it. `is_queue`: its keys are of its framework."""

    queue: Queue
    passed: int = 0
    figures: Figures | None = None
    in_per_s: float | None = None
    out_per_s: float | None = None
    measured_s: float = NEVER
    is_queue: bool = False

    def as_json(self) -> dict[str, Any]:
        figures = self.figures or Figures()
        return {
            "framework": self.queue.framework,
            "name": to_json(self.queue.label),
            **figures.as_json(),
            "in_per_s": self.in_per_s,
            "out_per_s": self.out_per_s,
        }

    def take(self, figures: Figures | None, now_s: float) -> None:
        before, since = self.figures, now_s - self.measured_s
        self.is_queue, self.figures, self.measured_s = figures is not None, figures, now_s
        if figures is None or before is None or since <= 0:
            return
        self.in_per_s = rate(before.taken, figures.taken, since)
        self.out_per_s = rate(before.done, figures.done, since)


def rate(before: int | None, now: int | None, seconds: float) -> float | None:
    if before is None or now is None:
        return None
    return max(now - before, 0) / seconds


def recognised(name: bytes) -> Find | None:
    """Return what a key belongs to, by its name."""
    return next((find for one in FRAMEWORKS if (find := one.recognise(name)) is not None), None)


class Finder:
    """The queues of one database. `share`: the share of the server's time."""

    def __init__(self, share: float = SHARE) -> None:
        self.budget = Budget(share)
        self.time_ms = 0
        # True after the first pass over all names.
        self.has_passed = False
        self.error = ""
        self._known: dict[Queue, Known] = {}
        self._in_turn: deque[Known] = deque()
        self._notes: dict[tuple[str, bytes, bytes], list[bytes]] = {}
        self._collected: dict[tuple[str, bytes, bytes], list[bytes]] = {}
        self._seen_lists = 0
        self._pass = 1
        # When the first pass ended: notes are complete since then.
        self._passed_s = NEVER
        self._cursor: bytes | None = b"0"
        self._scans_lists = False
        self._scan_s = NEVER
        self._task: tuple[Steps[Any], Callable[[Any], None]] | None = None
        self._next: list[Words] | None = None
        self._sent_s = 0.0

    def begin_round(self) -> None:
        """Look through all names again, and measure all queues, until `is_complete`."""
        self.has_passed = False
        self._begin_pass(NEVER)

    @property
    def is_complete(self) -> bool:
        """True when all queues were measured after the first pass over all names."""
        return self.has_passed and all(
            one.measured_s >= self._passed_s or (one.measured_s > NEVER and not one.is_queue)
            for one in self._known.values()
        )

    @property
    def queues(self) -> list[Known]:
        """Queues that were measured, by framework and name."""
        found = [one for one in self._known.values() if one.is_queue]
        return sorted(found, key=lambda one: (one.queue.framework, one.queue.label))

    def find(self, framework: str, label: bytes) -> Known | None:
        """Return a queue by what it is shown as."""
        return next(
            (
                one
                for one in self._known.values()
                if one.queue.framework == framework and one.queue.label == label
            ),
            None,
        )

    def reset(self) -> None:
        """Start over on a new connection; the figures stay until there are new ones."""
        self._task = self._next = None
        self.budget.reset()
        self._begin_pass(NEVER)

    # -- requests ----------------------------------------------------------------------------------

    def plan(self, now_s: float) -> list[Words]:
        """Return the next batch; empty if none is due."""
        if self.budget.wait_s(now_s) > 0:
            return []
        if self._next is None and not self._begin(now_s):
            return []
        assert self._next is not None
        self._sent_s = now_s
        return [("TIME",), *self._next, ("TIME",)]

    def accept(self, replies: Sequence[Reply], now_s: float) -> None:
        """Take the replies to the requests of `plan`, errors among them, in order."""
        assert self._task is not None, "nothing was planned"
        first, *between, last = replies
        server_s = None
        if not is_error(first) and not is_error(last):
            server_s = (time_us(last) - time_us(first)) / 1_000_000
            self.time_ms = time_us(first) // 1000
        self.budget.charge(now_s, now_s - self._sent_s, server_s)
        steps, take = self._task
        try:
            self._next = steps.send(between)
        except StopIteration as end:
            self._task = self._next = None
            take(end.value)

    def wait_s(self, now_s: float) -> float:
        """Return the seconds until `plan` should be called again; at most one."""
        wait_s = self.budget.wait_s(now_s)
        if wait_s > 0:
            return min(wait_s, 1.0)
        return 0.0 if self._next is not None else IDLE_WAIT_S

    def _begin(self, now_s: float) -> bool:
        """Begin what is due: a queue that was never measured, a step of SCAN, the next queue."""
        fresh = self._in_turn and self._in_turn[0].measured_s == NEVER
        if not fresh and self._cursor is not None and now_s >= self._scan_s:
            return self._start(self._scan(), partial(self._take_names, now_s))
        known = self._next_due(now_s)
        if known is None:
            return False
        framework = BY_NAME[known.queue.framework]
        # The server's clock; before its first answer a second scan is not far away.
        steps = framework.measure(known.queue, self.notes_of(known.queue), self.time_ms)
        return self._start(steps, partial(self._take_figures, known, now_s))

    def _next_due(self, now_s: float) -> Known | None:
        """Return the next queue to measure, and put it at the end."""
        for _ in range(min(len(self._in_turn), LOOKED_AT)):
            known = self._in_turn[0]
            self._in_turn.rotate(-1)
            every_s = MEASURE_EVERY_S if known.is_queue else RETRY_EVERY_S
            if now_s >= known.measured_s + every_s:
                return known
        return None

    def _start(self, steps: Steps[Any], take: Callable[[Any], None]) -> bool:
        self._task = (steps, take)
        self._next = next(steps)
        return True

    def _take_figures(self, known: Known, now_s: float, figures: Figures | None) -> None:
        known.take(figures, now_s)

    # -- names -------------------------------------------------------------------------------------

    def notes_of(self, queue: Queue) -> list[bytes]:
        """Return keys that each hold a job of the queue; those of no queue go to the first."""
        notes = self._notes.get((queue.framework, queue.prefix, queue.name), [])
        common = self._notes.get((queue.framework, queue.prefix, b""))
        return notes if common is None else notes + common

    def _begin_pass(self, at_s: float) -> None:
        self._cursor, self._scan_s, self._scans_lists = b"0", at_s, False
        self._seen_lists = 0

    def _scan(self) -> Steps[tuple[Reply, list[Reply]]]:
        """Ask for the next names, and for the first elements of lists without a known name."""
        assert self._cursor is not None
        words: Words = ("SCAN", self._cursor, "COUNT", SCAN_COUNT)
        if self._scans_lists:
            words += ("TYPE", "list")
        (reply,) = yield [words]
        firsts: list[Reply] = []
        if self._scans_lists and not is_error(reply):
            names = yield from self._small(self._unnamed(reply[1]))
            if names:
                firsts = yield [("LINDEX", name, 0) for name in names]
            firsts = list(zip(names, firsts, strict=True))
        if not is_error(reply) and not self._scans_lists:
            yield from self._registries(reply[1])
            yield from self._checks(reply[1])
        return reply, firsts

    def _small(self, names: list[bytes]) -> Steps[list[bytes]]:
        """Return the lists whose first element is small enough to be fetched, as far as is known.

        With one sample, MEMORY USAGE takes all nodes of a list to be as large as the first.
        """
        if not names:
            return []
        replies = yield [
            words
            for name in names
            for words in (("MEMORY", "USAGE", name, "SAMPLES", 1), ("LLEN", name))
        ]
        return [
            name
            for name, used, length in zip(names, replies[::2], replies[1::2], strict=True)
            if (number(used) or 0) <= FIRST_BYTES * (number(length) or 1)
        ]

    def _registries(self, names: Sequence[bytes]) -> Steps[None]:
        """Note the queues that keys among `names` list."""
        found = [
            (framework, name, words)
            for name in names
            for framework in FRAMEWORKS
            if (words := framework.registry(name)) is not None
        ]
        if not found:
            return
        replies = yield [words for *_, words in found]
        for (framework, name, _), reply in zip(found, replies, strict=True):
            for queue in framework.registered(name, reply):
                self._note(queue)

    def _checks(self, names: Sequence[bytes]) -> Steps[None]:
        """Collect what `names` belong to, without the names that only look like a queue's."""
        finds = [find for find in map(recognised, names) if find is not None]
        unsure = {
            find.queue: (framework, words)
            for find in finds
            if find.queue not in self._known
            and (words := (framework := BY_NAME[find.queue.framework]).check(find.queue))
        }
        replies = (yield [words for _, words in unsure.values()]) if unsure else []
        others = {
            queue
            for (queue, (framework, _)), reply in zip(unsure.items(), replies, strict=True)
            if not framework.is_own(reply)
        }
        for find in finds:
            if find.queue not in others:
                self._take(find)

    def _unnamed(self, names: Sequence[bytes]) -> list[bytes]:
        wanted = [name for name in names if recognised(name) is None]
        del wanted[UNNAMED_LISTS - self._seen_lists :]
        self._seen_lists += len(wanted)
        return wanted

    def _take_names(self, now_s: float, found: tuple[Reply, list[Any]]) -> None:
        reply, firsts = found
        if is_error(reply):
            self.error = str(reply) if is_refusal(reply) else ""
            self._end_pass(now_s)
            return
        self.error = ""
        cursor = reply[0]
        if self._scans_lists:
            for name, first in firsts:
                if FASTSTREAM.is_message(first):
                    self._note(Queue(FASTSTREAM.name, b"", name))
        self._cursor = cursor if isinstance(cursor, bytes) else str(cursor).encode()
        if self._cursor != b"0":
            return
        if self._scans_lists:
            self._end_pass(now_s)
        else:
            self._scans_lists = True

    def _take(self, find: Find) -> None:
        if find.note is not None:
            key = (find.queue.framework, find.queue.prefix, find.queue.name)
            notes = self._collected.setdefault(key, [])
            if len(notes) < NOTES:
                notes.append(find.note)
        if find.queue.name:
            self._note(find.queue)

    def _note(self, queue: Queue) -> None:
        known = self._known.get(queue)
        if known is None:
            if len(self._known) >= MOST_QUEUES:
                return
            known = self._known[queue] = Known(queue)
            self._in_turn.appendleft(known)
        known.passed = self._pass

    def _end_pass(self, now_s: float) -> None:
        """Forget what this pass has not seen, and begin the next one later."""
        if not self.error:
            self._notes, self._collected = self._collected, {}
            self._known = {
                queue: one for queue, one in self._known.items() if one.passed == self._pass
            }
            self._in_turn = deque(one for one in self._in_turn if one.passed == self._pass)
        self.has_passed, self._passed_s = True, self._passed_s if self.has_passed else now_s
        self._pass += 1
        self._begin_pass(now_s + PASS_EVERY_S)
