"""The command dispatcher: looks a request's command up, decides whether it may run, and runs it.

The steps of one request:
  execute      lookup and arity; serves ready keys first, unless the command declares that this can
               wait (`defers_ready_keys`)
  memory_limit evicts keys while more memory is in use than `maxmemory` (admission.py)
  admission    authentication, MULTI, CLIENT PAUSE and other gates (admission.py)
  account      the handler, monitors
  clock        its statistics, slow log (command_clock.py)
  propagation  its changes, as one unit (commands/core/propagation.py)
  waiters      clients whose handler returned a `Block` (waiters.py)

No I/O: replies collect in `client.output`. The session (server/requests/session.py) feeds requests
in, and the cycle (server/loop/cycle.py) decides when output is sent. The dispatcher knows commands
by their declarations only, with two exceptions: EXEC has an error reply of its own when it is
refused, and `POST` and `Host:` are recognized as the start of an HTTP request.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from time import perf_counter_ns

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
    GATE_RESTRICTED,
    GATE_SILENT,
    GATE_TRACKING,
)
from commands.core.instance import Instance
from commands.core.long_reply import LongReply, in_pieces
from commands.core.propagation import Propagation
from commands.core.registry import (
    ADMIN,
    MAY_REPLICATE,
    READONLY,
    SKIP_MONITOR,
    WRITE,
    Command,
    CommandTable,
    Handler,
    Reply,
    Runner,
)
from commands.core.services import Services
from commands.server.monitor import feed_monitors
from commands.streams.lookup import report_damage
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.request import SHORT_BYTES, Cutter, Request
from protocol.requests import Argv
from server.clock import Clock
from server.requests.admission import Admission, MemoryLimit
from server.requests.client_limit import ClientLimit
from server.requests.command_clock import Answering, CommandClock
from server.requests.script_runs import ScriptRuns
from server.requests.waiters import ClientQueues, Waiters
from storage.append_only.request_writer import RequestWriter
from storage.nodes.listpack_node import DamagedNode

_HTTP_WORDS = {b"post", b"host:"}

# Commands with one of these do not look at statistics.
_ON_DATA: cython.long = READONLY | WRITE | MAY_REPLICATE
_MULTI: cython.long = GATE_MULTI
_READY: cython.int = ClientState.READY
_RESTRICTED: cython.long = GATE_RESTRICTED
_SHORT_BYTES: cython.Py_ssize_t = SHORT_BYTES
_TRACKING: cython.long = GATE_TRACKING
_WRITE: cython.long = WRITE
INTERNAL_ERROR = b"-ERR internal error, see the server's log\r\n"


@frozen_record
class QueuedReply:
    """The long reply to a request of a transaction."""

    reply: LongReply
    command: Command
    request: Request


@cython.cclass
class Dispatcher(Runner):
    """Runs requests against one instance."""

    def __init__(self, instance: Instance, readings: Clock) -> None:
        self.clock = CommandClock(instance)
        super().__init__(self.clock)
        self.instance = instance
        self._readings = readings  # of the system's clocks
        instance.feature(Services).runner = self
        self.queues = ClientQueues()
        self.client_limit = ClientLimit(instance)
        self.answering = Answering(instance, self.clock)
        self.admission = Admission(instance, self.queues, self.client_limit, self.answering)
        self.memory_limit = MemoryLimit(instance)
        self.propagation: Propagation = instance.propagation
        self.waiters = Waiters(instance, self.queues, self, self.clock, self.answering)
        self.script_runs = ScriptRuns(instance, self, self.clock, self.waiters)
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
        # Begins to send `client.long_reply` in pieces, or waits until the client has read what it
        # has got. None: replies are sent at once.
        self.send_in_pieces: Callable[[Client], None] | None = None
        # Handlers that the steps of the cycle depend on, since they looked (server/loop/cycle.py).
        self.has_run_handlers = True
        # The command that was looked up last, by what name, and how many words it may have.
        self._command: Command | None = None
        self._name = b""
        self._fullname = b""
        self._handler: Handler | None = None
        self._least_words = self._most_words = 0

    # -- the way in ----------------------------------------------------------------------------

    def start_batch(self) -> None:
        """Begin a batch of work of any kind: set the times that it sees, and its time slice."""
        self.look_up_settings()
        self.has_run_handlers = True
        self.start_input(self._readings.now_ms())
        self.instance.monotonic_ms = self._readings.monotonic_ms()

    def start_input(self, now_ms: cython.long) -> None:
        """`start_batch` for bytes from a client, which runs for each read: the settings are those
        of the last command that may change one, or of the last timer tick."""
        self.instance.now_ms = now_ms
        self.clock.start_slice()

    def look_up_settings(self) -> None:
        """Cache the settings that most requests need."""
        self.instance.look_up_settings()
        self.client_limit.look_up_settings()
        self.clock.look_up_settings()

    def execute(self, client: Client, request: Request) -> bool:
        """Run one request. False: the client's next request must wait.

        Either something halts the client, or its batch has used up its time slice.
        """
        clock: CommandClock = self.clock
        command = self._command
        if command is None or not request.is_word(0, self._name):
            command = self._look_up(client, request)
            if command is None:
                return clock.mark_ns < clock.slice_end_ns
        client.last_command = self._fullname
        if not self._least_words <= request.count <= self._most_words:
            self._refuse_arity(client, command, request)
            return clock.mark_ns < clock.slice_end_ns
        instance = self.instance
        client.last_interaction_ms = instance.monotonic_ms
        if instance.limits_memory:
            self.memory_limit.check()
        if (client.gates or instance.gates) and not self.admission.admits(client, command, request):
            if client.gates != _MULTI:  # EXEC leaves the time of its queue out: saves 0.05 us
                clock.mark()
            return client.postponed is None and clock.mark_ns < clock.slice_end_ns
        if instance.is_cluster and not self.admission.serves(client, command, request):
            clock.mark()
            return clock.mark_ns < clock.slice_end_ns
        if instance.ready_keys.signalled and not command.defers_ready_keys:
            self.waiters.serve_ready_keys()
        output = client.output
        position = len(output)
        reply = self.account(client, command, request, self._handler)
        if type(reply) is bytes:
            if client.gates or len(output) > position:
                self.answering.answer(client, reply, position)
            else:
                output.append(reply)
            if clock.quick_count:
                return True  # the clock is read after a few more
        elif type(reply) is Block:
            self.waiters.block(client, reply, request.words())
            return False
        elif type(reply) is LongReply:
            return self.begin_long_reply(client, reply, request.words(), position)
        return clock.mark_ns < clock.slice_end_ns and client.state == _READY

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
    ) -> bytes | LongReply:
        """Run the requests of a transaction, each of the command at its position; their replies.

        All of them run, whatever the size of their replies; if it exceeds the limit of the client's
        output, the client is disconnected. Long replies stay in pieces, unless there is a limit.
        """
        room_bytes: int | None = output_room_bytes(client)
        self.clock.mark()
        results: list[bytes] = [replies.array_header(len(requests))]
        parts: list[bytes | QueuedReply] = []  # if there are long replies, all but the last ones
        is_too_long = False
        i: cython.Py_ssize_t
        for i in range(len(requests)):
            command, request = queued[i], self._opened(requests[i])
            if client.gates & _RESTRICTED:
                denied = refusal_in_exec(client, command, request.words())
                if denied is not None:
                    self.instance.stats.count_error(denied.code)
                    for observer in list(self.instance.request_observers):
                        observer.refused(client, command, request.words(), denied.code)
                    results.append(denied.wire)
                    continue
            reply = self.account(client, command, request, command.handler)
            if type(reply) is LongReply:
                if room_bytes is None and not reply.shows_changes:
                    parts += (b"".join(results), QueuedReply(reply, command, requests[i]))
                    results.clear()
                    continue
                reply = self.join(client, command, request, reply)
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
        last = replies.joined(results)
        return self._in_order(client, [*parts, last]) if parts else last

    def _in_order(self, client: Client, parts: list[bytes | QueuedReply]) -> LongReply:
        """The replies of a transaction as one, of which some are long."""
        queued = [part for part in parts if isinstance(part, QueuedReply)]

        def end() -> None:
            for part in queued:
                part.reply.end()

        return LongReply(self._pieces_of(client, parts), end)

    def _pieces_of(self, client: Client, parts: list[bytes | QueuedReply]) -> Iterator[bytes]:
        for part in parts:
            if not isinstance(part, QueuedReply):
                yield from in_pieces([part])
                continue
            try:
                while (piece := part.reply.next_piece()) is not None:
                    yield piece
            except Exception as error:
                if part.reply.is_begun:
                    raise
                yield self._failed(client, part.command, part.request, error)

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

    # -- lookup --------------------------------------------------------------------------------

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

    def _refuse_arity(self, client: Client, command: Command, request: Request) -> None:
        """Answer a request with too few or too many words."""
        error = errors.wrong_arity(command.fullname)
        self.answering.reject(client, command, error, request)

    def _refuse_unknown(self, client: Client, request: Request) -> None:
        """Answer a request of no command that is known."""
        client.last_command = b""
        name = request[0].lower()
        if name in self._commands.by_name:
            error = errors.unknown_subcommand(name, request[1])
            self.answering.reject(client, None, error, request)
        elif name in _HTTP_WORDS:
            # Cross-protocol scripting: a browser was made to send this. What follows must not run.
            line = f"HTTP request from {client.address.decode()}: closed"
            self.instance.host.log_bounded("warning", "HTTP request", line)
            client.connection.abort()
        else:
            error = errors.unknown_command(request.words())
            self.answering.reject(client, None, error, request)

    # -- running -------------------------------------------------------------------------------

    def account(
        self, client: Client, command: Command, request: Request, handler: Handler | None
    ) -> Reply:
        """Call a handler or a retry: errors, statistics, slow log, propagation."""
        assert handler is not None  # only a command with sub-commands has none
        instance = self.instance
        propagation: Propagation = self.propagation
        clock: CommandClock = self.clock
        if (
            (clock.quick_count or clock.settled)
            and command is not clock.quick_command
            and not command.flags & _ON_DATA
        ):
            clock.count_quick()  # it may look at statistics
        start_ns: cython.long = clock.mark_ns
        quick: cython.long = clock.quick_count
        dirty = instance.dirty
        propagation.depth += 1
        reply: Reply
        try:
            reply = handler(client, request)
        except Exception as error:
            reply = self._failed(client, command, request, error)
        propagation.depth -= 1
        # CONFIG SET and CLIENT TRACKING change cached settings; what has a name in the table, as
        # most requests have, is no sub-command.
        if (self._command is None or propagation.depth) and command.parent is not None:
            self.look_up_settings()
        if instance.monitors:
            self._tell_watchers(client, command, request, handler, reply, start_ns)
        if propagation.sinks or client.gates or propagation.requests:
            is_over = type(reply) is not Block
            self._tell_others(client, command, request, instance.dirty != dirty, is_over)
        if (
            command.is_quick
            and handler is command.handler  # and not a retry
            and type(reply) is bytes
            and len(cython.cast(bytes, reply)) <= _SHORT_BYTES
            and request.is_short()
            and not request.takes_long
        ):
            client.commands += 1
            clock.add_quick(client, command, request)
            return reply
        if (
            type(reply) is not bytes
            or not command.flags & _ON_DATA
            or handler is not command.handler
            or instance.gates
        ):
            self.has_run_handlers = True
        if type(reply) is Block:
            return reply  # accounted for when it completes
        client.commands += 1
        clock.count(client, command, request, start_ns, quick)
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
    def _tell_watchers(
        self,
        client: Client,
        command: Command,
        request: Request,
        handler: Handler,
        reply: Reply,
        start_ns: cython.long,
    ) -> None:
        """Report a command that has run to monitors and observers."""
        instance = self.instance
        is_first = handler is command.handler
        is_shown = is_first and not command.flags & (SKIP_MONITOR | ADMIN)
        if is_shown and instance.has_monitors:
            feed_monitors(instance, client, redacted(request.words(), command.fullname))
        if instance.request_observers:
            elapsed_ns = perf_counter_ns() - start_ns
            for observer in list(instance.request_observers):
                observer.ran(client, command, request, reply, elapsed_ns, is_first)

    @cython.cfunc
    def _tell_others(
        self, client: Client, command: Command, request: Request, is_dirty: bool, is_over: bool
    ) -> None:
        """Report a command that has run to client-side caches and propagation."""
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
        if not propagation.depth and propagation.requests:
            propagation.end_unit()
            client.note_write()

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

    def begin_long_reply(self, client: Client, reply: LongReply, argv: Argv, position: int) -> bool:
        """Send a reply in pieces. True: it is complete already, and the client may go on."""
        send = self.send_in_pieces
        if send is None:
            wire = reply.join()
            reply.end()
            self.answering.answer(client, wire, position)
            return True
        if client.gates & GATE_SILENT and not self.answering.is_heard(client):
            reply.end()
            return True
        reply.request = argv
        reply.queued_messages = client.output[position:]
        del client.output[position:]
        client.long_reply = reply
        client.enter(ClientEvent.ANSWER)
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
        self.clock.add_time(client, command, reply.request, reply.used_us)
        for observer in list(self.instance.request_observers):
            observer.sent(client, command, reply.request, reply.size, reply.used_us)
        self.queues.resume(client)

    # -- blocked clients, for handlers ---------------------------------------------------------

    def serve_ready_keys(self) -> None:
        """Serve the waiters of every ready key."""
        self.waiters.serve_ready_keys()

    def end_waiting(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client whose command is over; it counts as a call."""
        self.waiters.end(client, reply)
