"""The requests of a sampler, and when each is due; see the package's docstring."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rillway.sampler.budget import Budget
from rillway.sampler.facts import ServerFacts
from rillway.sampler.figures import ServerFigures, StreamFigures
from rillway.sampler.replies import (
    Reply,
    Words,
    as_text,
    is_error,
    is_forbidden,
    is_refusal,
    time_us,
)
from rillway.sampler.visit import Asked, Visit, Wishes

SHARE = 0.01
# The requests of a batch, besides the TIME at both ends.
BATCH_REQUESTS = 48
ON_SCREEN_EVERY_S = 1.0
# Streams that are not on the screen: XLEN at most once in the first interval, all requests at least
# once in the second.
LOOK_EVERY_S = 1.0
VISIT_EVERY_S = 60.0
VISIT_PENDING_EVERY_S = 10.0
MEMORY_EVERY_S = 60.0
SCAN_EVERY_S = 1.0
SCAN_COUNT = 1000
ENTRIES_SHOWN = 20
MOST_STREAMS = 100_000
NEVER = float("-inf")


@dataclass(slots=True, eq=False)
class Tracked:
    """A stream that is known by name, and when it was sampled."""

    name: bytes
    figures: StreamFigures | None = None
    turn_s: float = NEVER
    visited_s: float = NEVER
    memory_s: float = NEVER
    round: int = 0
    is_large: bool = False
    is_visited: bool = False
    is_underway: bool = False


class Sampler:
    """Figures of the database of one connection. See the package's docstring.

    `streams`: names to watch, instead of all that SCAN finds; `match`: a glob for SCAN; `share`:
    the share of the server's time; `server_facts`, `memory`: False omits these requests;
    `every_consumer`: includes consumers of groups with nothing pending.
    """

    def __init__(
        self,
        *,
        streams: Iterable[bytes] | None = None,
        match: bytes | None = None,
        db: int = 0,
        dead_after_s: float = 60.0,
        share: float = SHARE,
        server_facts: bool = True,
        memory: bool = True,
        every_consumer: bool = False,
    ) -> None:
        self.db = db
        self.dead_after_ms = round(dead_after_s * 1000)
        self.budget = Budget(share)
        # Streams that were read, by name, in the order in which they were found.
        self.streams: dict[bytes, StreamFigures] = {}
        # Named streams that could not be read, with the reason.
        self.errors: dict[bytes, str] = {}
        # The newest entries of the stream named to `focus`, None if unknown.
        self.entries: list[tuple[str, list[bytes]]] | None = None
        self.time_ms = 0
        # How often the streams on the screen are sampled.
        self.every_s = ON_SCREEN_EVERY_S
        self.taken_s = 0.0
        self._facts = ServerFacts() if server_facts else None
        self._memory = memory
        self._every_consumer = every_consumer
        self._match = match
        self._names = None if streams is None else list(streams)
        self._tracked: dict[bytes, Tracked] = {}
        self._in_turn: deque[Tracked] = deque()
        self._new: deque[Tracked] = deque()
        self._on_screen: list[bytes] = []
        self._opened: frozenset[bytes] = frozenset()
        self._entries_of: bytes | None = None
        self._entries_s = NEVER
        self._round = 0
        self._by_rounds = False
        self._cursor: bytes | None = b"0"
        self._has_scanned = False
        self._scans_types = True
        self._scan_s = NEVER
        self._has_begun = False
        # Whether the server has XINFO POLICY for this user; None until one was asked about.
        self._has_policies: bool | None = None
        self._queue: deque[Asked] = deque()
        self._visits: list[Visit] = []
        self._sent: list[Asked] | None = None
        self._sent_s = 0.0
        self._now_s = 0.0
        self._begin_scan()

    # -- what is known ----------------------------------------------------------------------------

    @property
    def server(self) -> ServerFigures:
        return self._facts.figures if self._facts else ServerFigures(self.time_ms)

    @property
    def known_streams(self) -> int:
        """The number of streams found, including those not read yet."""
        return len(self._tracked)

    @property
    def has_policies(self) -> bool | None:
        """Whether the server has policies that this user may see; None if that is unknown."""
        return self._has_policies

    def as_json(self) -> dict[str, Any]:
        """Return `{"time_ms": ..., "server": {...}, "streams": [...]}`; unknown is None."""
        return {
            "time_ms": self.time_ms,
            "server": self.server.as_json(),
            "streams": [stream.as_json() for stream in self.streams.values()],
        }

    # -- what is wanted ---------------------------------------------------------------------------

    def focus(
        self,
        visible: Iterable[bytes],
        opened: Iterable[bytes] = (),
        entries_of: bytes | None = None,
    ) -> None:
        """Sample the streams on the screen first, once a second; the others follow in turn.

        `opened`: streams whose groups are shown; their consumers are requested as well. They are
        sampled at once: SCAN may take long to find them among many others. `entries_of`: a stream
        whose newest entries are shown (`entries`).
        """
        opened = list(opened)
        self._opened = frozenset(opened)
        if self._names is None:
            for name in opened:
                self._track(name)
        self._on_screen = [*opened, *(name for name in visible if name not in self._opened)]
        if entries_of != self._entries_of:
            self._entries_of, self._entries_s, self.entries = entries_of, NEVER, None

    def begin_round(self) -> None:
        """Begin to sample everything once, all streams included; `round_done` is true at the end.

        After the first call, sampling pauses between the end of a round and the next call.
        """
        self._by_rounds = True
        self._round += 1
        self._begin_scan()
        if self._facts is not None:
            self._facts.refresh()

    @property
    def round_done(self) -> bool:
        """Return True if everything was sampled since `begin_round`, or the beginning."""
        if self._queue or self._visits or self._sent is not None or not self._has_scanned:
            return False
        return self._has_begun and all(
            one.is_visited and one.round == self._round for one in self._tracked.values()
        )

    def reset(self) -> None:
        """Start over on a new connection; the figures stay until there are new ones."""
        self._queue.clear()
        self._visits.clear()
        self._sent = None
        self._has_policies = None
        for one in self._tracked.values():
            one.is_underway = False
        self.budget.reset()
        self._begin_scan()

    # -- requests ---------------------------------------------------------------------------------

    def plan(self, now_s: float) -> list[Words]:
        """Return the next batch, for one pipeline; empty if none is due, or one is in flight."""
        if self._sent is not None or self.budget.wait_s(now_s) > 0:
            return []
        self._now_s = now_s
        if not self._is_full and not (self._by_rounds and self.round_done):
            self._fill(now_s)
        if not self._queue:
            return []
        count = min(len(self._queue), BATCH_REQUESTS)
        batch = [self._queue.popleft() for _ in range(count)]
        self._sent, self._sent_s, self._has_begun = batch, now_s, True
        return [("TIME",), *(words for words, _ in batch), ("TIME",)]

    def accept(self, replies: Sequence[Reply], now_s: float) -> None:
        """Take the replies to the requests of `plan`, errors among them, in order."""
        assert self._sent is not None, "nothing was planned"
        batch, self._sent, self._now_s = self._sent, None, now_s
        round_trip_s = now_s - self._sent_s
        first, *between, last = replies
        server_s = None
        if not is_error(first) and not is_error(last):
            server_s = (time_us(last) - time_us(first)) / 1_000_000
            self.time_ms = time_us(first) // 1000
        self.taken_s += self.budget.charge(now_s, round_trip_s, server_s)
        for (_, take), reply in zip(batch, between, strict=True):
            take(reply)
        self._end_visits()

    def wait_s(self, now_s: float) -> float:
        """Return the seconds until `plan` should be called again; at most one."""
        wait_s = self.budget.wait_s(now_s)
        if wait_s == 0 and not self._queue:
            wait_s = 0.05  # nothing is due now; something will be within a second
        return min(wait_s, 1.0)

    # -- what is due ------------------------------------------------------------------------------

    def _fill(self, now_s: float) -> None:
        """Collect due requests, the most urgent first, until a batch is full."""
        if self._facts is not None:
            for fact in self._facts.due(now_s):
                self._queue.append((fact.words, partial(self._take_fact, fact)))
        self._ask_entries(now_s)
        for name in self._on_screen:
            one = self._tracked.get(name)
            if one is None or one.is_underway or now_s < one.visited_s + self.every_s:
                continue
            self._visit(one, now_s)
        if not self._is_full and self._cursor is not None and now_s >= self._scan_s:
            self._scan(now_s)
        while self._new and not self._is_full:
            one = self._new.popleft()
            if one.visited_s == NEVER:
                self._visit(one, now_s)
        for _ in range(len(self._in_turn)):
            if self._is_full or not self._look(now_s):
                break

    @property
    def _is_full(self) -> bool:
        return len(self._queue) >= BATCH_REQUESTS

    def _look(self, now_s: float) -> bool:
        """Begin to sample the next stream; return False if none is due."""
        one = self._in_turn[0]
        in_round = one.round == self._round
        if in_round and not self._by_rounds and now_s < one.turn_s + LOOK_EVERY_S:
            return False
        self._in_turn.rotate(-1)
        if self._tracked.get(one.name) is not one:
            self._in_turn.pop()  # deleted meanwhile
            return True
        one.turn_s = now_s
        is_recent = self._by_rounds or now_s < one.visited_s + LOOK_EVERY_S
        if one.is_underway or (in_round and is_recent):
            return True
        if not in_round or now_s >= one.visited_s + self._visit_every_s(one):
            self._visit(one, now_s)
        else:
            self._queue.append((("XLEN", one.name), partial(self._take_length, one)))
        return True

    def _visit_every_s(self, one: Tracked) -> float:
        return VISIT_PENDING_EVERY_S if one.figures and one.figures.pending else VISIT_EVERY_S

    def _take_length(self, one: Tracked, reply: Reply) -> None:
        figures = one.figures
        if figures is None:  # it cannot be read; retried once a minute
            return
        has_changed = reply != figures.length or bool(figures.in_per_s)
        if has_changed and not one.is_underway and self._tracked.get(one.name) is one:
            self._visit(one, self._now_s)

    def _take_fact(self, fact: Any, reply: Reply) -> None:
        assert self._facts is not None
        self._facts.accept(fact, reply, self._now_s, self.time_ms)

    # -- streams ----------------------------------------------------------------------------------

    def _visit(self, one: Tracked, now_s: float) -> None:
        wants_memory = self._memory and now_s >= one.memory_s + MEMORY_EVERY_S
        is_opened = self._every_consumer or one.name in self._opened
        asks_policy = self._has_policies
        if asks_policy is None:  # until the server has answered one request, no other is sent
            asks_policy = not any(visit.wishes.policy for visit in self._visits)
        wishes = Wishes(is_opened, wants_memory, asks_policy, one.is_large)
        one.visited_s = now_s
        one.round = self._round
        one.is_underway = True
        if wants_memory:
            one.memory_s = now_s
        visit = Visit(one.name, one.figures, wishes)
        self._visits.append(visit)
        self._queue.extend(visit.requests())

    def _end_visits(self) -> None:
        """Finish streams with all their replies; add requests for new groups."""
        underway = []
        for visit in self._visits:
            found = visit.finds_policies
            if found is not None:
                self._has_policies = found
        for visit in self._visits:
            visit.note_time(self.time_ms)
            if not visit.is_waiting and not visit.error:
                self._queue.extend(visit.follow_up(has_policies=self._has_policies))
            if visit.is_waiting:
                underway.append(visit)
            else:
                self._end(visit)
        self._visits = underway

    def _end(self, visit: Visit) -> None:
        one = self._tracked.get(visit.name)
        if one is None:
            return
        one.is_visited, one.is_underway = True, False
        if visit.is_missing:
            self.streams.pop(visit.name, None)
            one.figures = None
            if self._names is None:
                del self._tracked[visit.name]
        if visit.error is not None:
            if self._names is not None:
                self.errors[visit.name] = str(visit.error)
            elif not visit.is_missing:
                self._note_refusal("XINFO", visit.error)
            return
        self.errors.pop(visit.name, None)
        one.is_large = visit.is_large
        one.figures = visit.figures(self.db, self.dead_after_ms)
        self.streams[visit.name] = one.figures

    def _note_refusal(self, command: str, error: Exception) -> None:
        if self._facts is not None:
            self._facts.note_refusal(command, str(error))

    def _ask_entries(self, now_s: float) -> None:
        one = self._tracked.get(self._entries_of) if self._entries_of is not None else None
        if one is None or one.is_large or now_s < self._entries_s + self.every_s:
            return
        self._entries_s = now_s
        words: Words = ("XREVRANGE", one.name, "+", "-", "COUNT", ENTRIES_SHOWN)
        self._queue.append((words, partial(self._take_entries, one.name)))

    def _take_entries(self, name: bytes, reply: Reply) -> None:
        if name == self._entries_of and not is_error(reply):
            self.entries = [(as_text(entry[0]), entry[1]) for entry in reply]

    # -- names ------------------------------------------------------------------------------------

    def _begin_scan(self) -> None:
        self._has_scanned = self._names is not None
        self._cursor, self._scan_s = (None if self._has_scanned else b"0"), NEVER
        for name in self._names or ():
            self._track(name)

    def _scan(self, now_s: float) -> None:
        """Plan a step of SCAN: at once during the first scan, later one a second."""
        assert self._cursor is not None
        words: tuple[Any, ...] = ("SCAN", self._cursor)
        if self._match is not None:
            words += ("MATCH", self._match)
        words += ("COUNT", SCAN_COUNT)
        if self._scans_types:
            words += ("TYPE", "stream")
        self._cursor = None
        self._scan_s = now_s + SCAN_EVERY_S if self._has_scanned else NEVER
        self._queue.append((words, self._take_names))

    def _take_names(self, reply: Reply) -> None:
        if is_error(reply):
            # SCAN has no option TYPE before 6.0.
            self._scans_types = self._scans_types and not is_refusal(reply)
            if is_forbidden(reply):
                self._note_refusal("SCAN", reply)
                self._scan_s, self._has_scanned = self._now_s + VISIT_EVERY_S, True
            self._cursor = b"0"
            return
        cursor, names = reply
        if self._scans_types:
            self._note(names)
        else:
            self._queue.extend((("TYPE", name), partial(self._take_type, name)) for name in names)
        self._cursor = cursor if isinstance(cursor, bytes) else str(cursor).encode()
        if self._cursor == b"0":
            self._end_scan()

    def _take_type(self, name: bytes, reply: Reply) -> None:
        if reply in (b"stream", "stream"):
            self._note([name])

    def _note(self, names: Iterable[bytes]) -> None:
        for name in names:
            self._track(name)

    def _end_scan(self) -> None:
        """End a scan; the next begins a second later. Deleted streams are detected when sampled."""
        self._has_scanned = True
        self._scan_s = self._now_s + SCAN_EVERY_S

    def _track(self, name: bytes) -> None:
        if name not in self._tracked and len(self._tracked) < MOST_STREAMS:
            one = self._tracked[name] = Tracked(name)
            self._new.append(one)
            self._in_turn.append(one)
