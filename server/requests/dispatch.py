"""The command dispatcher: looks a request's command up, decides whether it may run, and runs it.

The steps of one request:
  execute      lookup and arity; serves ready keys first, unless the command declares that this can
               wait (`defers_ready_keys`)
  memory_limit evicts keys while more memory is in use than `maxmemory` (memory_limit.py)
  admission    authentication, MULTI, CLIENT PAUSE and other gates (admission.py)
  account      the handler, its statistics, slow log, monitors
  propagation  its changes, as one unit (commands/core/propagation.py)
  waiters      clients whose handler returned a `Block` (waiters.py)

No I/O: replies collect in `client.output`. The session (server/requests/session.py) feeds requests
in, and the cycle (server/loop/cycle.py) decides when output is sent. The dispatcher knows commands
by their declarations only, with two exceptions: EXEC has an error reply of its own when it is
refused, and `POST` and `Host:` are recognized as the start of an HTTP request.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING

import cython

import commands.catalogue  # noqa: F401  (declares every command)
from commands.acl.checks import refusal_in_exec
from commands.config.redaction import redacted
from commands.connection.client_memory import drop_for_output, output_room_bytes
from commands.connection.invalidation_table import command_ran
from commands.core.blocked_clients import Block
from commands.core.client import Client, ClientEvent, ClientState
from commands.core.gates import (
    GATE_MULTI,
    GATE_PRIMARY,
    GATE_REPLICA,
    GATE_RESTRICTED,
    GATE_SILENT,
    GATE_TRACKING,
)
from commands.core.instance import Instance
from commands.core.long_reply import LongReply
from commands.core.propagation import TO_ALL, Propagation
from commands.core.registry import (
    ADMIN,
    FAST,
    MAY_REPLICATE,
    READONLY,
    SKIP_MONITOR,
    SKIP_SLOWLOG,
    WRITE,
    Command,
    CommandTable,
    Handler,
    Reply,
    Runner,
)
from commands.core.services import Services
from commands.server.latency import LatencyMonitor
from commands.server.monitor import feed_monitors
from commands.server.slowlog import SlowLog
from commands.streams.lookup import report_damage
from commands.transactions.transaction import Transaction, exec_refused
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Cutter, Request
from protocol.requests import Argv
from server.replication.replica.reception import (
    note_error_for_primary,
    refuse_reply_to_replica,
)
from server.requests.admission import Admission
from server.requests.client_limit import ClientLimit
from server.requests.client_queues import ClientQueues
from server.requests.memory_limit import MemoryLimit
from server.requests.script_runs import ScriptRuns
from server.requests.waiters import Waiters
from storage.append_only.request_writer import RequestWriter
from storage.nodes.listpack_node import DamagedNode

if TYPE_CHECKING:
    from commands.core.stats import CommandStats, Stats

_HTTP_WORDS = {b"post", b"host:"}

NEVER_US = NEVER_NS = 1 << 62
# The time slice of a batch: how long its requests may run before other clients have their turn.
TURN_NS = 1_500_000
# When a cycle has taken longer than that already, time slices are shorter by this factor.
LATE_TURNS = 4
# Up to this many quick requests (`Request.is_quick`) are counted together. If the slow log or the
# latency monitor records commands of a millisecond, each is counted by itself.
QUICK_AT_ONCE = 16
_QUICK_US = 1000
# Commands with one of these do not look at statistics.
_ON_DATA: cython.longlong = READONLY | WRITE | MAY_REPLICATE
_MULTI: cython.long = GATE_MULTI
_READY: cython.int = ClientState.READY
_RESTRICTED: cython.long = GATE_RESTRICTED
_TRACKING: cython.long = GATE_TRACKING
_WRITE: cython.longlong = WRITE
INTERNAL_ERROR = b"-ERR internal error, see the server's log\r\n"


@cython.cclass
class Dispatcher(Runner):
    """Runs requests against one instance."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(perf_counter_ns())
        self.instance = instance
        instance.propagate = self.propagate
        services = instance.feature(Services)
        services.dispatcher = services.runner = self
        self.queues = ClientQueues()
        self.client_limit = ClientLimit(instance)
        self.admission = Admission(instance, self.queues, self.client_limit, self)
        self.memory_limit = MemoryLimit(instance)
        self.propagation: Propagation = instance.propagation
        self.waiters = Waiters(instance, self.queues, self)
        self.script_runs = ScriptRuns(instance, self)
        self.cutter = Cutter()  # of the batch that runs
        self._queue_cutter = Cutter()  # of the request of a transaction that runs
        self._commands = instance.feature(CommandTable)
        # Commands without sub-commands, by their usual spellings: one lookup finds them.
        self._table = {
            spelling: command
            for name, command in self._commands.by_name.items()
            for spelling in (name, name.upper())
            if not command.subcommands
        }
        # Begins to send `client.long_reply` in pieces. None: long replies are sent at once.
        self.send_in_pieces: Callable[[Client], None] | None = None
        self.turn_ns = TURN_NS
        self.turn_end_ns = NEVER_NS  # when the batch that runs has used up its time slice
        self._cycle_start_ns = 0
        self._counted_inputs = 0  # Stats.inputs_processed at the end of the last cycle
        self.has_run_handlers = True  # since the steps of the cycle looked (server/loop/cycle.py)
        self._tracks_latency = True
        self._notable_us = NEVER_US  # from this duration on, slow log and latency monitor look
        self._depth = 0  # of nested commands: EXEC and scripts run others
        # The command that was looked up last, by what name, and how many words it may have.
        self._command: Command | None = None
        self._name = b""
        self._fullname = b""
        self._handler: Handler | None = None
        self._least_words = self._most_words = 0
        # Quick requests that are not counted yet; see count_quick(). The last of them are those of
        # one command; the others are in `_quick_others`, with their number.
        self._quick_command: Command | None = None
        self._quick_client: Client | None = None
        self._quick_count = 0
        self._quick_last = 0
        self._quick_others: list[tuple[Command, int]] = []
        # Those whose time was counted for a longer command: they count as a microsecond each.
        self._settled: dict[Command, int] = {}
        self._quick_limit = QUICK_AT_ONCE

    # -- the way in ----------------------------------------------------------------------------

    def start_batch(self, now_ms: int) -> None:
        """Begin a batch of work of any kind: set the time that it sees, and its time slice."""
        self.look_up_settings()
        self.has_run_handlers = True
        self.start_input(now_ms)

    def start_input(self, now_ms: cython.longlong) -> None:
        """`start_batch` for bytes from a client, which runs for each read: the settings are those
        of the last command that may change one, or of the last timer tick."""
        self.instance.now_ms = now_ms
        mark_ns: cython.longlong = perf_counter_ns()
        self.mark_ns = mark_ns
        self.turn_end_ns = mark_ns + self.turn_ns
        if not self._cycle_start_ns:
            self._cycle_start_ns = mark_ns
        elif mark_ns - self._cycle_start_ns > self.turn_ns:
            # Many clients have sent much at once: short slices let the loop poll sooner.
            self.turn_end_ns = mark_ns + self.turn_ns // LATE_TURNS

    def look_up_settings(self) -> None:
        """Cache the settings that most requests need."""
        self.instance.look_up_settings()
        self.client_limit.look_up_settings()
        config = self.instance.config
        slow_us, spike_ms = config.slowlog_log_slower_than, config.latency_monitor_threshold
        self._notable_us = min(
            slow_us if slow_us >= 0 else NEVER_US, spike_ms * 1000 if spike_ms else NEVER_US
        )
        self._tracks_latency = config.latency_tracking
        is_quick = self._notable_us > _QUICK_US and self.turn_ns > 0
        self._quick_limit = QUICK_AT_ONCE if is_quick else 1

    def end_cycle(self) -> None:
        """Account for the cycle that ends (INFO: eventloop_cycles, eventloop_duration_sum)."""
        stats = self.instance.stats
        stats.cycles += 1
        if stats.inputs_processed != self._counted_inputs:
            self._counted_inputs = stats.inputs_processed
            stats.cycles_with_input += 1
        if self._cycle_start_ns:
            end_ns: cython.longlong = perf_counter_ns()
            stats.cycles_us += (end_ns - self._cycle_start_ns) // 1000
            self._cycle_start_ns = 0

    def execute(self, client: Client, request: Request) -> bool:
        """Run one request. False: the client's next request must wait.

        Either something halts the client, or its batch has used up its time slice.
        """
        command = self._command
        if command is None or not request.is_word(0, self._name):
            command = self._look_up(client, request)
            if command is None:
                return self.mark_ns < self.turn_end_ns
        client.last_command = self._fullname
        if not self._least_words <= request.count <= self._most_words:
            self.reject(client, command, errors.wrong_arity(command.fullname))
            return self.mark_ns < self.turn_end_ns
        instance = self.instance
        client.last_interaction_ms = instance.now_ms
        if instance.limits_memory:
            self.memory_limit.check()
        if (client.gates or instance.gates) and not self.admission.admits(client, command, request):
            if client.gates != _MULTI:  # EXEC leaves the time of its queue out: saves 0.05 us
                self.mark()
            return client.postponed is None and self.mark_ns < self.turn_end_ns
        if instance.is_cluster and not self.admission.serves(client, command, request):
            self.mark()
            return self.mark_ns < self.turn_end_ns
        if instance.ready_keys.signalled and not command.defers_ready_keys:
            self.waiters.serve_ready_keys()
        output = client.output
        position = len(output)
        reply = self.account(client, command, request, self._handler)
        if type(reply) is bytes:
            if client.gates or len(output) > position:
                self.answer(client, reply, position)
            else:
                output.append(reply)
            if self._quick_count:
                return True  # the clock is read after a few more
        elif type(reply) is Block:
            self.waiters.block(client, reply, request.words())
            return False
        elif type(reply) is LongReply:
            return self._begin_long_reply(client, reply, request.words(), position)
        return self.mark_ns < self.turn_end_ns and client.state == _READY

    def run(self, client: Client, command: Command, request: Request) -> Reply:
        """Run the handler; returns its whole reply, or its error as a reply."""
        reply = self.account(client, command, request, command.handler)
        return self.join(client, command, request, reply) if type(reply) is LongReply else reply

    def join(self, client: Client, command: Command, request: Request, reply: LongReply) -> bytes:
        """The whole of a long reply; if it fails, its error."""
        try:
            return reply.join()
        except Exception as error:
            return self._failed(client, command, request, error)

    def run_queue(
        self,
        client: Client,
        queued: list[Command],
        requests: list[Request],
    ) -> bytes:
        """Run the requests of a transaction, each of the command at its place; their replies.

        All of them run, whatever the size of their replies; if it exceeds the limit of the client's
        output, the client is disconnected.
        """
        room_bytes: int | None = output_room_bytes(client)
        self.mark()
        results: list[bytes] = [replies.array_header(len(requests))]
        is_too_long = False
        place: cython.Py_ssize_t
        for place in range(len(requests)):
            command, request = queued[place], self._opened(requests[place])
            if client.gates & _RESTRICTED:
                denied = refusal_in_exec(client, command, request.words())
                if denied is not None:
                    self.instance.stats.count_error(denied.code)
                    results.append(denied.wire)
                    continue
            reply = self.run(client, command, request)
            if type(reply) is bytes:
                results.append(reply)
            else:
                assert reply is None, f"{command.fullname!r} blocks in EXEC"
                reply = b""
            if room_bytes is not None:
                room_bytes -= len(reply)
                if room_bytes < 0:
                    is_too_long = True
                    results.clear()
        if is_too_long:
            drop_for_output(client)
            return b""
        return b"".join(results)

    @cython.cfunc
    def _opened(self, kept: Request) -> Request:
        """A request of a transaction in the form in which it arrived."""
        wire = kept.wire()
        if wire is None:
            return kept
        cutter: Cutter = self._queue_cutter
        cutter.load(wire)
        cutter.next()
        return cutter

    # -- counting ------------------------------------------------------------------------------

    def count_quick(self, request: Request | None = None) -> None:
        """Count the quick requests that have run since the last call.

        They share the time equally, whatever their commands: the clock is read once for up to
        QUICK_AT_ONCE of them. `request`: the last of them, if it is still known.
        """
        if self._settled:
            self._add_settled()
        count: cython.longlong = self._quick_count
        if not count:
            return
        end_ns: cython.longlong = perf_counter_ns()
        elapsed_us: cython.longlong = (end_ns - self.mark_ns) // 1000
        self.mark_ns = end_ns
        command, client = self._quick_command, self._quick_client
        self._add_quick(elapsed_us)
        assert command is not None and client is not None
        if elapsed_us >= self._notable_us:
            argv = [command.name] if request is None or count > 1 else request.words()
            self._note_slow(client, command, argv, elapsed_us)

    @cython.cfunc
    def _add_quick(self, elapsed_us: cython.longlong) -> None:
        """Add the quick requests to the statistics; together they took that long."""
        count: cython.longlong = self._quick_count
        command = self._quick_command
        assert command is not None
        self._add(command, self._quick_last, elapsed_us * self._quick_last // count)
        if self._quick_others:
            number: cython.longlong
            for command, number in self._quick_others:
                self._add(command, number, elapsed_us * number // count)
            self._quick_others.clear()
        self._quick_count = self._quick_last = 0
        self._quick_client = None  # which may be closed and freed now

    @cython.cfunc
    def _settle(self) -> None:
        """Note that the time of the quick requests is counted, but not yet their number."""
        settled, command = self._settled, self._quick_command
        assert command is not None
        settled[command] = settled.get(command, 0) + self._quick_last
        if self._quick_others:
            for command, number in self._quick_others:
                settled[command] = settled.get(command, 0) + number
            self._quick_others.clear()
        self._quick_count = self._quick_last = 0
        self._quick_client = None

    @cython.cfunc
    def _add_settled(self) -> None:
        for command, number in self._settled.items():
            self._add(command, number, number)
        self._settled.clear()

    @cython.cfunc
    def _add(self, command: Command, count: cython.longlong, elapsed_us: cython.longlong) -> None:
        """Add calls of a command to the statistics, which together took that long."""
        stats: Stats = self.instance.stats
        of_command: CommandStats = stats.of(command)
        of_command.calls += count
        of_command.usec += elapsed_us
        if self._tracks_latency:
            of_command.histogram[elapsed_us // count] += count
        stats.commands_processed += count

    def _count(
        self, command: Command, start_ns: cython.longlong, quick: cython.longlong
    ) -> cython.longlong:
        """Count a command that has ended; returns its duration in microseconds.

        Quick requests that are not counted yet, of which `quick` ran after `start_ns` but before
        the command, will be counted as if each had taken one microsecond.
        """
        if self._quick_count:
            self._settle()
        end_ns: cython.longlong = perf_counter_ns()
        self.mark_ns = end_ns
        elapsed_us: cython.longlong = max((end_ns - start_ns) // 1000 - quick, 0)
        self._add(command, 1, elapsed_us)
        return elapsed_us

    def account_repeated(self, command: Command, count: int) -> None:
        """Statistics of waiters that share the reply of another one: they took no time."""
        of_command = self.instance.stats.of(command)
        of_command.calls += count
        if self._tracks_latency:
            of_command.histogram[0] += count
        self.instance.stats.commands_processed += count

    # -- lookup and refusal --------------------------------------------------------------------

    @cython.cfunc
    def _look_up(self, client: Client, request: Request) -> Command | None:
        """The command or sub-command in any spelling; None, after an error reply, if unknown.

        Requests that follow with the same name need no look-up.
        """
        name = request.word(0)
        command = self._command = self._table.get(name)
        if command is not None:
            self._name = name
        elif (command := self._find(client, request)) is None:
            self._refuse_unknown(client, request)
            return None
        self._fullname, self._handler = command.fullname, command.handler
        self._least_words, self._most_words = command.least_words, command.most_words
        return command

    def _find(self, client: Client, request: Request | list[bytes]) -> Command | None:
        """The command of a request as this client may spell it."""
        if client.replays:
            return self._commands.find_replayed(request)
        return self._commands.find(request)

    def _refuse_unknown(self, client: Client, request: Request) -> None:
        """Answer a request of no command that is known."""
        client.last_command = b""
        name = request[0].lower()
        if name in self._commands.by_name:
            self.reject(client, None, errors.unknown_subcommand(name, request[1]))
        elif name in _HTTP_WORDS:
            # Cross-protocol scripting: a browser was made to send this. What follows must not run.
            line = f"HTTP request from {client.address.decode()}: closed"
            self.instance.host.log_bounded("warning", "HTTP request", line)
            client.connection.abort()
        else:
            self.reject(client, None, errors.unknown_command(request.words()))

    def reject(self, client: Client, command: Command | None, error: ReplyError) -> None:
        """Answer an error to a request that does not run; an open transaction will abort."""
        stats = self.instance.stats
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
        self.mark()

    def mark(self) -> None:
        """Restart the stopwatch: the time since the last command counts for none."""
        self.count_quick()
        self.mark_ns = perf_counter_ns()

    @staticmethod
    def answer(client: Client, reply: bytes, position: int) -> None:
        """Insert a reply before the messages that its own command sent to the client.

        CLIENT REPLY OFF drops replies; SKIP drops the one after its own. A replica gets none.
        """
        if client.gates & GATE_PRIMARY and reply.startswith(b"-"):
            note_error_for_primary(client, reply)
        if client.gates & GATE_REPLICA:
            if reply:
                refuse_reply_to_replica(client, reply)
        elif not client.gates & GATE_SILENT:
            client.output.insert(position, reply)
        elif client.reply_mode == b"SKIP_NEXT":
            client.reply_mode = b"SKIP"
            client.output.insert(position, reply)
        elif client.reply_mode == b"SKIP":
            client.reply_mode = b"ON"
            client.gates &= ~GATE_SILENT

    # -- running -------------------------------------------------------------------------------

    def account(
        self, client: Client, command: Command, request: Request, handler: Handler | None
    ) -> Reply:
        """Call a handler or a retry: errors, statistics, slow log, propagation."""
        assert handler is not None  # only a command with sub-commands has none
        instance = self.instance
        if (
            (self._quick_count or self._settled)
            and command is not self._quick_command
            and not command.flags & _ON_DATA
        ):
            self.count_quick()  # it may look at statistics
        start_ns: cython.longlong = self.mark_ns
        quick: cython.longlong = self._quick_count
        dirty = instance.dirty
        self._depth += 1
        reply: Reply
        try:
            reply = handler(client, request)
        except Exception as error:
            reply = self._failed(client, command, request, error)
        self._depth -= 1
        # CONFIG SET and CLIENT TRACKING change cached settings; what has a name in the table, as
        # most requests have, is no sub-command.
        if (self._command is None or self._depth) and command.parent is not None:
            self.look_up_settings()
        propagation: Propagation = self.propagation
        if propagation.sinks or client.gates or instance.monitors or propagation.requests:
            is_over = type(reply) is not Block
            self._tell_others(client, command, request, handler, instance.dirty != dirty, is_over)
        if request.is_quick:
            if command is not self._quick_command:
                if self._quick_last and self._quick_command is not None:
                    self._quick_others.append((self._quick_command, self._quick_last))
                    self._quick_last = 0
                self._quick_command = command
            self._quick_client = client
            client.commands += 1
            self._quick_last += 1
            self._quick_count += 1
            if self._quick_count >= self._quick_limit:
                self.count_quick(request)
            return reply
        self.has_run_handlers = True
        if type(reply) is Block:
            return reply  # accounted for when it completes
        client.commands += 1
        elapsed_us = self._count(command, start_ns, quick)
        if elapsed_us >= self._notable_us:
            self._note_slow(client, command, request.words(), elapsed_us)
        return reply

    def _failed(
        self, client: Client, command: Command, request: Request, error: Exception
    ) -> bytes:
        """The error reply for an exception. A bug in a handler must not stop the server."""
        instance = self.instance
        instance.stats.of(command).failed_calls += 1
        if isinstance(error, DamagedNode):
            self.propagation.mend()
            error = self._met_damage(client, command, request.words(), error)
        if isinstance(error, ReplyError):
            if not error.is_counted:
                instance.stats.count_error(error.code)
            return error.wire
        self.propagation.mend()
        text = "".join(traceback.format_exception(error))
        instance.host.log("warning", f"The command '{command.fullname.decode()}' failed: {text}")
        instance.stats.count_error(b"ERR")
        return INTERNAL_ERROR

    def _met_damage(
        self, client: Client, command: Command, argv: Argv, error: DamagedNode
    ) -> ReplyError:
        """The error for a client whose command has met a damaged node of a stream."""
        client.propagate_nothing()  # what the handler has not propagated itself
        found = report_damage(client, error, [argv[i] for i in command.key_positions(argv)])
        if client.gates & GATE_PRIMARY:
            self.instance.replication.link.damage = found.text.decode("utf-8", "backslashreplace")
        return found

    @cython.cfunc
    def _tell_others(
        self,
        client: Client,
        command: Command,
        request: Request,
        handler: Handler,
        is_dirty: bool,
        is_over: bool,
    ) -> None:
        """Report a command that has run to monitors, client-side caches and propagation."""
        instance = self.instance
        if (
            instance.monitors
            and handler is command.handler
            and not command.flags & (SKIP_MONITOR | ADMIN)
        ):
            feed_monitors(instance, client, redacted(request.words(), command.fullname))
        if client.gates & _TRACKING:
            command_ran(client, command, request, is_over=is_over)
        propagation: Propagation = self.propagation
        propagates, client.propagates = client.propagates, False
        if not propagation.sinks:
            propagation.drop()
            return
        if is_dirty and not propagates and command.flags & _WRITE:  # which EXEC and EVAL have not
            writer: RequestWriter = propagation.begin(client.db.index)
            writer.encoded(request.whole())
        if not self._depth and propagation.requests:
            propagation.end_unit()
            client.note_write()

    def _note_slow(self, client: Client, command: Command, argv: Argv, elapsed_us: int) -> None:
        """The slow log and the latency monitor, each by its own threshold."""
        instance = self.instance
        slow_us = instance.config.slowlog_log_slower_than
        if elapsed_us >= slow_us >= 0 and not command.flags & SKIP_SLOWLOG:
            shown = redacted(argv, command.fullname)
            instance.feature(SlowLog).record(client, shown, elapsed_us, instance.now_ms)
            instance.stats.count_slow(command, elapsed_us)
        spike_ms = instance.config.latency_monitor_threshold
        if spike_ms and elapsed_us >= spike_ms * 1000:
            event = b"fast-command" if command.flags & FAST else b"command"
            instance.feature(LatencyMonitor).sample(event, elapsed_us // 1000, instance.now_ms)

    @property
    def is_in_transaction(self) -> bool:
        """True if EXEC or a script runs: its changes so far are not propagated yet."""
        return self._depth > 1

    def propagate(self, db_index: int, request: Argv) -> None:
        """Propagate a change that no client requested (an expired key), in order with the rest.

        As in Redis, redis.set_repl does not hold it back.
        """
        propagation = self.propagation
        if propagation.sinks:
            held, propagation.held = propagation.held, TO_ALL
            propagation.add(db_index, request)
            propagation.held = held
            if not self._depth:
                propagation.end_unit()

    def propagate_message(self, request: Argv) -> None:
        """Send a request that changes no data (PUBLISH) to replicas, in order with the rest."""
        if self.instance.replication.is_feeding:
            self.propagation.add_message(request)
            if not self._depth:
                self.propagation.end_unit()

    def flush_propagation(self) -> None:
        """Propagate what ran so far to the present sinks: the role is about to change."""
        self.propagation.end_unit()
        self.propagation.hand_over()

    def hold_propagation(self) -> None:
        """Collect on: a command has paused, and its unit is not complete."""
        self._depth += 1

    def release_propagation(self) -> None:
        """The paused command is done: its unit may be propagated."""
        self._depth -= 1

    def drop_propagation(self) -> None:
        """Forget the collected requests of the command that runs."""
        self.propagation.drop()

    # -- scripts -------------------------------------------------------------------------------

    def run_with_pauses(self, client: Client, argv: Argv, work: Callable[[], Reply]) -> Reply:
        """Run work that may pause (server/requests/script_runs.py)."""
        return self.script_runs.run(client, argv, work)

    def pause_script(self) -> bool:
        """Return to the loop in the middle of a script; False if that is impossible."""
        return self.script_runs.pause()

    def end_script(self) -> bool:
        """End a paused script for a shutdown. False: the data are torn, and must not be saved."""
        is_whole = self.script_runs.end()
        # The handler of SHUTDOWN may be running: a transaction that has ended must not wait for it.
        self.propagation.end_unit()
        return is_whole

    def run_held_back(
        self, client: Client, command: Command, request: Request, keeps: int
    ) -> Reply:
        """Run a command, and propagate only to the targets that `keeps` selects."""
        propagation = self.propagation
        held, propagation.held = propagation.held, keeps
        reply = self.run(client, command, request)
        propagation.held = held
        return reply

    # -- long replies --------------------------------------------------------------------------

    def _begin_long_reply(
        self, client: Client, reply: LongReply, argv: Argv, position: int
    ) -> bool:
        """Send a reply in pieces. True: it is complete already, and the client may go on."""
        send = self.send_in_pieces
        if send is None or client.gates & GATE_SILENT:
            wire = reply.join() if send is None else b""
            reply.end()
            self.answer(client, wire, position)
            return True
        reply.request = argv
        reply.queued_messages = client.output[position:]
        del client.output[position:]
        client.long_reply = reply
        client.enter(ClientEvent.ANSWER_IN_PIECES)
        send(client)
        return False

    def fail_long_reply(self, client: Client, reply: LongReply, error: Exception) -> bytes:
        """The error reply for an exception while the pieces were made."""
        command = self._commands.find(reply.request)
        assert command is not None
        return self._failed(client, command, Request(reply.request), error)

    def end_long_reply(self, client: Client, reply: LongReply) -> None:
        """The last piece is made: account for the time that it took, and resume the client."""
        client.output += reply.queued_messages
        client.long_reply = None
        command = self._commands.find(reply.request)
        assert command is not None
        self.instance.stats.of(command).usec += reply.used_us
        if reply.used_us >= self._notable_us:
            self._note_slow(client, command, reply.request, reply.used_us)
        self.queues.resume(client)

    # -- blocked clients, for handlers ---------------------------------------------------------

    def serve_ready_keys(self) -> None:
        """Serve the waiters of every ready key."""
        self.waiters.serve_ready_keys()

    def retry(self, client: Client) -> None:
        """Run a client's command again if it is still blocked; it may block again."""
        self.waiters.retry(client)

    def unblock(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client, and resume it with its next request."""
        self.waiters.unblock(client, reply)

    def end_waiting(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client whose command is over; it counts as a call."""
        self.waiters.end(client, reply)
