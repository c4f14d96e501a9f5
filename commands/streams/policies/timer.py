"""When policies act: one timer for all features, streams and databases.

A feature says when a stream wants its attention, and does what is due then:

    class Retention:
        def due_ms(self, timer, stream): ...     # Unix ms, at `timer.now_ms` or before: now; None
        def work(self, turn, key, stream): ...   # until nothing is due or `turn.is_over()`

    FEATURES.append(Retention())

The timer is a heap of times, armed for streams that have a policy (`Stream.policy`), and only where
a feature waits for a time. A command that changes such a time calls `note`. A command that is too
frequent to ask the features each time, such as XADD, calls `hasten`: then they act soon. Obsolete
items of the heap are skipped when their time comes.

Features act on a primary only, and not while it loads or holds writes back. `begin` arms the timer
after loading, after a promotion, and wherever streams may have moved to other keys.

Times are those of the policy clock: wall time in ms that never goes backwards. If wall time is set
back, work is late, but never early and never done twice. For ten minutes after wall time has
outrun monotonic time by more than a minute, `is_steady` is False: then no feature judges by age.

A feature acts through the turn's client, as a handler does. Changes that belong together are one
unit of propagation (MULTI and EXEC); `turn.end_unit()` ends it.
"""

from __future__ import annotations

import heapq
import traceback
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from commands.core.client import Client
from commands.core.gates import GATE_BUSY, GATE_LOADING, KEEPING_GATES
from commands.core.instance import STORED, Instance
from protocol.records import entity
from storage.keyspace.database import Database
from storage.stream import Stream

# How long one turn may take.
TURN_US = 1000
# The number of obsolete items that the heap may have in addition to as many as valid ones.
SPARE_TIMES = 1000
# The pause of a stream after a feature has failed on it.
RETRY_MS = 60_000
# A jump of the clock, and how long ages do not count after one.
JUMP_MS = 60_000
UNSTEADY_MS = 600_000
# The ID of the client that acts; no real client has it.
_CLIENT_ID = -2

Place = tuple[int, bytes]  # (database index, key)


class PolicyFeature(Protocol):
    """A policy that acts when its time has come."""

    def due_ms(self, timer: PolicyTimer, stream: Stream) -> int | None:
        """The time of the policy clock at which to call `work`; None: no time."""

    def work(self, turn: Turn, key: bytes, stream: Stream) -> None:
        """Do what is due; the rest is done in the next turn."""


# In the order in which they act on a stream.
FEATURES: list[PolicyFeature] = []


@entity
class PolicyCounts:
    """What policies have done since the start of the server, or CONFIG RESETSTAT."""

    redelivered: int = 0
    dead_lettered: int = 0
    dead_letter_failures: int = 0
    retention_removed: int = 0
    steps_us: int = 0


class Turn:
    """A time slice of the features, and the client through which they act."""

    def __init__(self, timer: PolicyTimer, client: Client) -> None:
        self.timer = timer
        self.client = client
        self.now_ms = timer.now_ms
        self._end_us = timer.elapsed_us() + TURN_US

    def is_over(self) -> bool:
        """Return True if the time slice is used up."""
        return self.timer.elapsed_us() >= self._end_us

    def end_unit(self) -> None:
        """End a unit of propagation: all that was propagated since the previous one."""
        self.client.propagates = False
        propagation = self.client.instance.propagation
        if not propagation.sinks:
            propagation.drop()
        elif propagation.requests:
            propagation.end_unit()


class PolicyTimer:
    """The timer of one server."""

    def __init__(self, instance: Instance) -> None:
        self.heap: list[tuple[int, int, bytes]] = []  # (Unix ms, database index, key)
        self.soon: OrderedDict[Place, None] = OrderedDict()  # where features are to act soon
        self.counts = PolicyCounts()
        self.now_ms = instance.now_ms  # of the policy clock
        self.grace_until_ms = 0  # no deadline of a delivery is before this
        self.unsteady_until_ms = 0
        # Set by the server: monotonic time, and a call that makes it read `next_ms` again. It
        # does so after `run` anyway.
        self.elapsed_us: Callable[[], int] = lambda: 0
        self.wake: Callable[[], object] = lambda: None
        self._places: dict[Place, int | None] = {}  # of streams with policies: when they are due
        self._instance = instance
        self._client = Client(instance, _CLIENT_ID, instance.databases[0])
        self._is_acting = False
        self._read_us: int | None = None  # monotonic time when the clock was last read

    # -- the clock -----------------------------------------------------------------------------

    def read_clock(self) -> int:
        """The policy clock, advanced to the server's clock."""
        wall_ms, elapsed_us = self._instance.now_ms, self.elapsed_us()
        if self._read_us is not None:
            passed_ms = (elapsed_us - self._read_us) // 1000
            if wall_ms - self.now_ms > passed_ms + JUMP_MS:
                self._report_jump(wall_ms - self.now_ms - passed_ms)
                self.unsteady_until_ms = wall_ms + UNSTEADY_MS
        if wall_ms >= self.now_ms:  # else it was set back, and its return must not look like a jump
            self.now_ms, self._read_us = wall_ms, elapsed_us
        return self.now_ms

    @property
    def is_steady(self) -> bool:
        """False while the clock is not trusted, after a jump."""
        return self.now_ms >= self.unsteady_until_ms

    def _report_jump(self, jump_ms: int) -> None:
        if self.is_used:
            self._instance.host.log(
                "warning",
                f"The clock went {jump_ms // 1000} s ahead at once: retention by age pauses for"
                f" {UNSTEADY_MS // 60_000} minutes",
            )

    # -- arming --------------------------------------------------------------------------------

    @property
    def may_act(self) -> bool:
        """True on a primary, unless its writes are held back."""
        instance = self._instance
        if instance.replication.is_replica or instance.is_cron_paused:
            return False
        return not instance.gates & (KEEPING_GATES | GATE_LOADING | GATE_BUSY)

    def next_ms(self) -> int | None:
        """The time at which to call `run`; None if nothing waits."""
        if not self.may_act:
            return None
        if self.soon:
            return self.now_ms
        return self.heap[0][0] if self.heap else None

    def begin(self) -> None:
        """Arm the timer for all streams: after loading, a promotion, and the like."""
        self.heap.clear()
        self.soon.clear()
        self._places.clear()
        for db in self._instance.databases:
            for key in db.streams.values():
                stream = db.values[key]
                if isinstance(stream, Stream) and stream.policy is not None:
                    self.hasten(db.index, key)

    def swap(self, first: int, second: int) -> None:
        """Look at the streams of two databases that have exchanged their content (SWAPDB)."""
        others = {first: second, second: first}
        moved = [place for place in self._places if place[0] in others]
        for place in moved:
            del self._places[place]
            self.soon.pop(place, None)
        for db_index, key in moved:
            if self._stream_with_policy((others[db_index], key)) is not None:
                self.hasten(others[db_index], key)

    def begin_service(self) -> None:
        """`begin` for a server that serves from now on, or becomes the primary."""
        # Loading may have taken long, and the server has not read its clock since.
        self.now_ms = max(self.now_ms, self._instance.host.clock_us() // 1000)
        self._read_us = self.elapsed_us()
        self.grace_until_ms = self.now_ms + self._instance.config.policy_grace_ms
        self.begin()

    def note(self, db_index: int, key: bytes, stream: Stream) -> None:
        """Arm the timer again for a stream whose times may have changed."""
        place = (db_index, key)
        self._places.setdefault(place)
        if not self._instance.replication.is_replica:
            due_ms = self._due_ms(stream)
            if due_ms is not None and due_ms <= self.now_ms:
                self.hasten(db_index, key)
            elif due_ms is not None:
                self._arm(place, due_ms)

    def hasten(self, db_index: int, key: bytes) -> None:
        """Let the features act on a stream soon, whether or not they are due."""
        place = (db_index, key)
        if place in self.soon:
            return
        self._places.setdefault(place)
        if self._instance.replication.is_replica:
            return
        is_first = not self.soon
        self.soon[place] = None
        if is_first and not self._is_acting:
            self.wake()

    def look_by(self, db_index: int, key: bytes, due_ms: int) -> None:
        """Let the features act on a stream at that time or before."""
        if due_ms <= self._instance.now_ms:
            self.hasten(db_index, key)
            return
        place = (db_index, key)
        armed_ms = self._places.setdefault(place)
        if (armed_ms is None or armed_ms > due_ms) and not self._instance.replication.is_replica:
            self._arm(place, due_ms)

    def _due_ms(self, stream: Stream) -> int | None:
        times = (feature.due_ms(self, stream) for feature in FEATURES)
        return min((time for time in times if time is not None), default=None)

    def _arm(self, place: Place, due_ms: int) -> None:
        armed_ms = self._places.get(place)
        if armed_ms == due_ms:
            return
        is_first = not self.heap or due_ms < self.heap[0][0]
        self._places[place] = due_ms
        heapq.heappush(self.heap, (due_ms, *place))
        if len(self.heap) > 2 * len(self._places) + SPARE_TIMES:
            self.heap = [(time, *each) for each, time in self._places.items() if time is not None]
            heapq.heapify(self.heap)
        if is_first and not self._is_acting:
            self.wake()

    @property
    def is_used(self) -> bool:
        """True if any stream has had a policy lately."""
        return bool(self._places)

    def streams(self) -> list[Stream]:
        """The streams with policies."""
        found = []
        for place in list(self._places):
            stream = self._stream_with_policy(place)
            if stream is not None:
                found.append(stream)
            else:
                del self._places[place]
        return found

    def _stream_with_policy(self, place: Place) -> Stream | None:
        stream = self._instance.databases[place[0]].values.get(place[1])
        if isinstance(stream, Stream) and stream.policy is not None:
            return stream
        return None

    # -- acting --------------------------------------------------------------------------------

    def run(self) -> None:
        """Do what is due, for a turn. The server has read its clock."""
        if not (self.soon or self.heap):
            return
        now_ms = self.read_clock()
        if not (self.soon or self.heap[0][0] <= now_ms) or not self.may_act:
            return
        start_us = self.elapsed_us()
        self._is_acting = True
        try:
            self._take_turn(Turn(self, self._client))
        finally:
            self._is_acting = False
        self.counts.steps_us += self.elapsed_us() - start_us

    def _take_turn(self, turn: Turn) -> None:
        left = len(self.soon)  # streams that are hastened during this turn wait for the next one
        while not turn.is_over():
            is_due = bool(self.heap) and self.heap[0][0] <= turn.now_ms
            if not left and not is_due:
                return
            if is_due:
                self._act_on_first(turn)
            if left and self.soon:
                left -= 1
                self._act(turn, self.soon.popitem(last=False)[0])

    def _act_on_first(self, turn: Turn) -> None:
        """Act on the stream with the first time, if that still counts."""
        due_ms, db_index, key = heapq.heappop(self.heap)
        place = (db_index, key)
        if self._places.get(place) == due_ms:
            self._places[place] = None
            self._act(turn, place)

    def _act(self, turn: Turn, place: Place) -> None:
        """Let all features act on a stream, and arm the timer for it again."""
        db, key = self._instance.databases[place[0]], place[1]
        stream = self._stream_at(db, key)
        if stream is None:
            self._places.pop(place, None)
            return
        turn.client.db = db
        db.memory.note(stream)
        try:
            for feature in FEATURES:
                feature.work(turn, key, stream)
                turn.end_unit()
                if db.values.get(key) is not stream or stream.policy is None:
                    return
        except Exception as error:
            # One stream must not keep the others from their turns, nor the loop from its work.
            self._fail(turn, place, error)
            return
        due_ms = self._due_ms(stream)
        if due_ms is None:
            self._places[place] = None
        else:
            self._arm(place, max(due_ms, self.now_ms + 1))

    def _stream_at(self, db: Database, key: bytes) -> Stream | None:
        """The stream of a key, if it has policies and has not expired."""
        stream = self._stream_with_policy((db.index, key))
        if stream is not None and db.is_expired(key, self._instance.now_ms):
            self._instance.expire(db, key)
            return None
        return stream

    def _fail(self, turn: Turn, place: Place, error: Exception) -> None:
        propagation = self._instance.propagation
        propagation.mend()
        turn.end_unit()
        name = self._instance.shown(place[1])
        text = "".join(traceback.format_exception(error))
        self._instance.host.log("warning", f"The policies of stream '{name}' have failed: {text}")
        self._arm(place, self.now_ms + RETRY_MS)


def _note_stored(instance: Instance, db: Database, key: bytes, stream: Stream) -> None:
    """Arm the timer for a stream that was stored at a key, perhaps under a new name."""
    if stream.policy is not None:
        instance.feature(PolicyTimer).note(db.index, key, stream)


STORED.setdefault(Stream, []).append(_note_stored)


def note(client: Client, key: bytes, stream: Stream) -> None:
    """`PolicyTimer.note` for a stream that a client's request has changed."""
    client.instance.feature(PolicyTimer).note(client.db.index, key, stream)
