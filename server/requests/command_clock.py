"""The command clock: counts the commands that run, measures them, and ends time slices.

Reading the time costs as much as a quick command. So the clock is read once for up to QUICK_AT_ONCE
quick requests (`Command.is_quick`), which share the time equally, whatever their commands. Commands
of other kinds are measured one by one. What takes longer than the thresholds of the slow log and of
the latency monitor is recorded there.

`Answering` puts a reply or a refusal into a client's output, unless the client gets none: CLIENT
REPLY drops replies, a replica gets none, and an error of a primary's request is kept for the log.
While a transaction is open, a refusal aborts it.

Leaves out: failed calls (server/requests/dispatch.py);
what a client does whose time slice is over (server/requests/session.py).
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

import cython

from commands.config.redaction import redacted
from commands.core.client import Client
from commands.core.gates import GATE_MULTI, GATE_PRIMARY, GATE_REPLICA, GATE_SILENT
from commands.core.instance import Instance
from commands.core.registry import FAST, SKIP_SLOWLOG, Command, Stopwatch
from commands.server.latency import LatencyMonitor
from commands.server.slowlog import SlowLog
from commands.transactions.transaction import Transaction, exec_refused
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from server.replication.replica.reception import note_error_for_primary, refuse_reply_to_replica

if TYPE_CHECKING:
    from commands.core.instance import CommandStats, Stats

NEVER_US = NEVER_NS = 1 << 62
# The time slice of a batch: how long its requests may run before those of other clients do.
TIME_SLICE_NS = 1_500_000
# When a cycle has taken longer than that already, time slices are shorter by this factor.
LATE_FACTOR = 4
# Up to this many quick requests are counted together. If the slow log or the latency monitor
# records commands of a millisecond, each is counted by itself.
QUICK_AT_ONCE = 16
_QUICK_US = 1000

_PRIMARY: cython.long = GATE_PRIMARY
_REPLICA: cython.long = GATE_REPLICA
_SILENT: cython.long = GATE_SILENT


@cython.cclass
class CommandClock(Stopwatch):
    """Counts and measures the commands of one instance."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(perf_counter_ns())
        self._instance = instance
        self.slice_ns = TIME_SLICE_NS
        self.slice_end_ns = NEVER_NS  # when the batch that runs has used up its time slice
        self.strangers_ns = 0  # used up in this cycle by clients that have not logged in
        self._cycle_start_ns = 0
        self._counted_inputs = 0  # Stats.inputs_processed at the end of the last cycle
        self._tracks_latency = True
        self.notable_us = NEVER_US  # from this duration on, slow log and latency monitor record
        # Quick requests that are not counted yet. The last of them are those of one command; the
        # others are in `_quick_others`, with their number.
        self.quick_command: Command | None = None
        self._quick_client: Client | None = None
        self.quick_count = 0
        self._quick_last = 0
        self._quick_others: list[tuple[Command, int]] = []
        # Those whose time was counted for a longer command: they count as a microsecond each.
        self.settled: dict[Command, int] = {}
        self._quick_limit = QUICK_AT_ONCE

    def look_up_settings(self) -> None:
        """Cache the settings that most requests need."""
        config = self._instance.config
        slow_us, spike_ms = config.slowlog_log_slower_than, config.latency_monitor_threshold
        self.notable_us = min(
            slow_us if slow_us >= 0 else NEVER_US, spike_ms * 1000 if spike_ms else NEVER_US
        )
        self._tracks_latency = config.latency_tracking
        is_quick = self.notable_us > _QUICK_US and self.slice_ns > 0
        is_quick = is_quick and not self._instance.times_requests
        self._quick_limit = QUICK_AT_ONCE if is_quick else 1

    # -- slices and cycles ---------------------------------------------------------------------

    def start_slice(self) -> None:
        """Begin a time slice, and a cycle if none has begun."""
        mark_ns: cython.long = perf_counter_ns()
        self.mark_ns = mark_ns
        self._instance.monotonic_ms = mark_ns // 1_000_000
        self.slice_end_ns = mark_ns + self.slice_ns
        if not self._cycle_start_ns:
            self._cycle_start_ns = mark_ns
        elif mark_ns - self._cycle_start_ns > self.slice_ns:
            # Many clients have sent much at once: short slices let the loop poll sooner.
            self.slice_end_ns = mark_ns + self.slice_ns // LATE_FACTOR

    def admits_strangers(self) -> bool:
        """Return True if anything is left of the time slice that strangers share in a cycle.

        Strangers are clients that have not logged in. The first of a cycle always runs.
        """
        return not self.strangers_ns or self.strangers_ns < self.slice_ns

    def limit_slice_of_stranger(self) -> None:
        """Let a slice that begins end no later than the one that all of them share."""
        self.slice_end_ns = min(self.slice_end_ns, self.mark_ns + self.slice_ns - self.strangers_ns)

    def end_slice_of_stranger(self, start_ns: cython.long) -> None:
        """Count what one of them has used up since `start_ns`."""
        self.mark()
        self.strangers_ns += self.mark_ns - start_ns

    def end_cycle(self) -> None:
        """Account for the cycle that ends (INFO: eventloop_cycles, eventloop_duration_sum)."""
        self.strangers_ns = 0
        stats: Stats = self._instance.stats
        stats.cycles += 1
        if stats.inputs_processed != self._counted_inputs:
            self._counted_inputs = stats.inputs_processed
            stats.cycles_with_input += 1
        if self._cycle_start_ns:
            end_ns: cython.long = perf_counter_ns()
            stats.cycles_us += (end_ns - self._cycle_start_ns) // 1000
            self._cycle_start_ns = 0

    def mark(self) -> None:
        """Restart the stopwatch: the time since the last command counts for none."""
        self.count_quick()
        self.mark_ns = perf_counter_ns()

    # -- counting ------------------------------------------------------------------------------

    def add_quick(self, client: Client, command: Command, request: Request) -> None:
        """Take note of a quick request that has run."""
        if command is not self.quick_command:
            if self._quick_last and self.quick_command is not None:
                self._quick_others.append((self.quick_command, self._quick_last))
                self._quick_last = 0
            self.quick_command = command
        self._quick_client = client
        self._quick_last += 1
        self.quick_count += 1
        if self.quick_count >= self._quick_limit:
            self.count_quick(request)

    def count_quick(self, request: Request | None = None) -> None:
        """Count the quick requests that have run since the last call.

        `request`: the last of them, if it is still known.
        """
        if self.settled:
            self._count_settled()
        count: cython.long = self.quick_count
        if not count:
            return
        end_ns: cython.long = perf_counter_ns()
        elapsed_us: cython.long = (end_ns - self.mark_ns) // 1000
        self.mark_ns = end_ns
        command, client = self.quick_command, self._quick_client
        assert command is not None and client is not None
        self._count(command, self._quick_last, elapsed_us * self._quick_last // count)
        if self._quick_others:
            number: cython.long
            for other, number in self._quick_others:
                self._count(other, number, elapsed_us * number // count)
        self._forget_quick()
        if elapsed_us >= self.notable_us:
            argv = [command.name] if request is None or count > 1 else request.words()
            self.note_slow(client, command, argv, elapsed_us)

    @cython.cfunc
    def _forget_quick(self) -> None:
        if self._quick_others:
            self._quick_others.clear()
        self.quick_count = self._quick_last = 0
        self._quick_client = None  # which may be closed and freed now

    @cython.cfunc
    def _settle(self) -> None:
        """Note that the time of the quick requests is counted, but not yet their number."""
        settled, command = self.settled, self.quick_command
        assert command is not None
        settled[command] = settled.get(command, 0) + self._quick_last
        for other, number in self._quick_others:
            settled[other] = settled.get(other, 0) + number
        self._forget_quick()

    @cython.cfunc
    def _count_settled(self) -> None:
        for command, number in self.settled.items():
            self._count(command, number, number)
        self.settled.clear()

    @cython.cfunc
    def _count(self, command: Command, count: cython.long, elapsed_us: cython.long) -> None:
        """Add calls of a command to the statistics, which together took that long."""
        stats: Stats = self._instance.stats
        of_command: CommandStats = stats.of(command)
        of_command.calls += count
        of_command.usec += elapsed_us
        if self._tracks_latency:
            of_command.histogram[elapsed_us // count] += count
        stats.commands_processed += count

    def count(
        self,
        client: Client,
        command: Command,
        request: Request,
        start_ns: cython.long,
        quick: cython.long,
    ) -> None:
        """Count a command that has ended.

        Quick requests that are not counted yet, of which `quick` ran after `start_ns` but before
        the command, will be counted as if each had taken one microsecond.
        """
        if self.quick_count:
            self._settle()
        end_ns: cython.long = perf_counter_ns()
        self.mark_ns = end_ns
        elapsed_us: cython.long = max((end_ns - start_ns) // 1000 - quick, 0)
        self._count(command, 1, elapsed_us)
        if elapsed_us >= self.notable_us:
            self.note_slow(client, command, request.words(), elapsed_us)

    def count_repeated(self, command: Command, count: int) -> None:
        """Count waiters that share the reply of another one: they took no time."""
        self._count(command, count, 0)

    def add_time(self, client: Client, command: Command, argv: Argv, elapsed_us: int) -> None:
        """Add what a command that is counted already took on top: the pieces of its reply."""
        self._instance.stats.of(command).usec += elapsed_us
        if elapsed_us >= self.notable_us:
            self.note_slow(client, command, argv, elapsed_us)

    def note_slow(self, client: Client, command: Command, argv: Argv, elapsed_us: int) -> None:
        """The slow log and the latency monitor, each by its own threshold."""
        instance = self._instance
        slow_us = instance.config.slowlog_log_slower_than
        if elapsed_us >= slow_us >= 0 and not command.flags & SKIP_SLOWLOG:
            shown = redacted(argv, command.fullname)
            instance.feature(SlowLog).record(client, shown, elapsed_us, instance.now_ms)
            instance.stats.count_slow(command, elapsed_us)
        spike_ms = instance.config.latency_monitor_threshold
        if spike_ms and elapsed_us >= spike_ms * 1000:
            event = b"fast-command" if command.flags & FAST else b"command"
            instance.feature(LatencyMonitor).sample(event, elapsed_us // 1000, instance.now_ms)


@cython.cclass
class Answering:
    """Answers the requests of one instance."""

    def __init__(self, instance: Instance, clock: CommandClock) -> None:
        self._instance = instance
        self._clock = clock

    def answer(self, client: Client, reply: bytes, position: cython.Py_ssize_t) -> None:
        """Insert a reply before the messages that its own command sent to the client.

        CLIENT REPLY OFF drops replies; SKIP drops the one after its own. A replica gets none.
        """
        if client.gates & _PRIMARY and reply.startswith(b"-"):
            note_error_for_primary(client, reply)
        if client.gates & _REPLICA:
            if reply:
                refuse_reply_to_replica(client, reply)
        elif not client.gates & _SILENT or self.is_heard(client):
            client.output.insert(position, reply)

    def is_heard(self, client: Client) -> bool:
        """Count a reply of a client that uses CLIENT REPLY; return True if it is sent."""
        if client.reply_mode == b"SKIP_NEXT":
            client.reply_mode = b"SKIP"
            return True
        if client.reply_mode == b"SKIP":
            client.reply_mode = b"ON"
            client.gates &= ~GATE_SILENT
        return False

    def reject(
        self, client: Client, command: Command | None, error: ReplyError, request: Request
    ) -> None:
        """Answer an error to a request that does not run; an open transaction will abort."""
        instance = self._instance
        stats = instance.stats
        if instance.request_observers:
            for observer in list(instance.request_observers):
                observer.refused(client, command, request.words(), error.code)
        stats.count_error(error.code)
        if command is not None:
            stats.of(command).rejected_calls += 1
        if command is not None and command.fullname == b"exec":
            error = exec_refused(client, error)
        elif client.gates & GATE_MULTI:
            client.feature(Transaction).is_refused = True
        else:
            client.is_asking = False
        self.answer(client, error.wire, len(client.output))
        self._clock.mark()
