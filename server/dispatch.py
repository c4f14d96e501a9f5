"""From argv to reply: look the command up, see whether it may run, run it, account for it.

The way of one request:
  execute     lookup, arity, gates; serves ready keys first where the command may take their data
  execute_run the same for a pipeline of plain XADDs at once
  admit       the second look, for clients or times that are not plain: authentication, MULTI,
              RESP2 subscribers, CLIENT PAUSE
  run         the handler, its statistics, slow log, monitors, propagation
  serve_ready_keys, unblock   the other end of a Block decision

No I/O: replies collect in `client.output`; the session (server/session.py) feeds requests in and
the cycle (server/cycle.py) decides when output leaves. What a command means is not known here,
with one exception: which commands a transaction does not queue.
"""

from __future__ import annotations

import traceback
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias

import commands.catalogue  # noqa: F401  (declares every command)
from commands.blocking import Block, Waiting, WatchedKey
from commands.client import (
    GATE_AUTH,
    GATE_MONITOR,
    GATE_MULTI,
    GATE_SILENT,
    GATE_SUBSCRIBED,
    GATE_TRACKING,
    Client,
)
from commands.instance import GATE_LOADING, GATE_PAUSED, GATE_WRITES_REFUSED, Instance
from commands.long_reply import LongReply
from commands.registry import (
    ADMIN,
    COMMANDS,
    FAST,
    LOADING,
    MAY_REPLICATE,
    NO_AUTH,
    NO_MULTI,
    READONLY,
    SKIP_MONITOR,
    SKIP_SLOWLOG,
    WRITE,
    Argv,
    Command,
    Handler,
    Reply,
)
from commands.server.monitor import feed_monitors
from commands.streams.add_run import xadd_run
from commands.transactions.transaction import exec_refused
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request_runs import RequestRun, TailRun
from storage.stream import Stream

if TYPE_CHECKING:
    from server.long_replies import LongReplies

# Requests of one client that are taken as a whole.
Run: TypeAlias = RequestRun | TailRun | list[Argv]

_NOT_QUEUED = {b"exec", b"discard", b"multi", b"watch", b"quit", b"reset"}
_HTTP_WORDS = {b"post", b"host:"}
_WHILE_SUBSCRIBED = {
    b"ping", b"subscribe", b"psubscribe", b"ssubscribe",
    b"unsubscribe", b"punsubscribe", b"sunsubscribe", b"quit", b"reset",
}  # fmt: skip


NEVER_US = NEVER_NS = 1 << 63
# How long the requests of one batch may run, one after the other, before others have their turn.
TURN_NS = 1_500_000
INTERNAL_ERROR = b"-ERR internal error, see the server's log\r\n"


class Dispatcher:
    """Runs requests against one instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        instance.dispatcher = self
        self.unblocked: dict[Client, None] = {}  # may go on with their next request
        self.postponed: dict[Client, Argv] = {}  # held back by CLIENT PAUSE
        self.yielded: dict[Client, None] = {}  # whose turn is over: they go on after the next poll
        # The usual spellings find their command in one look.
        self._table = {name: COMMANDS[name.lower()] for n in COMMANDS for name in (n, n.upper())}
        self.long_replies: LongReplies | None = None  # None: they are answered at once
        self.mark_ns = perf_counter_ns()  # when the last command ended: the next one's start
        self.turn_ns = TURN_NS
        self.turn_end_ns = NEVER_NS  # a batch that is not done by then gives way
        self._cycle_start_ns = 0
        self._tracks_latency = True
        self._notable_us = NEVER_US  # a command that takes so long goes to the slow path
        self._depth = 0
        # What the outermost command propagates, and the database that the last of it is for.
        self._unit: list[Argv] = []
        self._unit_db = self._unit_first_db = 0

    # -- the way in ----------------------------------------------------------------------------

    def start_batch(self, now_ms: int) -> None:
        """The clock is read once per batch of input."""
        self.instance.now_ms = now_ms
        self.mark_ns = perf_counter_ns()
        self.turn_end_ns = self.mark_ns + self.turn_ns
        if not self._cycle_start_ns:
            self._start_cycle()

    def _start_cycle(self) -> None:
        """What the configuration says is looked up once per cycle."""
        self._cycle_start_ns = self.mark_ns
        config = self.instance.config
        slow_us, spike_ms = config.slowlog_log_slower_than, config.latency_monitor_threshold
        self._notable_us = min(
            slow_us if slow_us >= 0 else NEVER_US, spike_ms * 1000 if spike_ms else NEVER_US
        )
        self._tracks_latency = config.latency_tracking

    def end_cycle(self) -> None:
        """Account for the cycle that ends (INFO: eventloop_cycles, eventloop_duration_sum)."""
        stats = self.instance.stats
        stats.cycles += 1
        if self._cycle_start_ns:
            stats.cycles_us += (perf_counter_ns() - self._cycle_start_ns) // 1000
            self._cycle_start_ns = 0

    def execute(self, client: Client, argv: Argv) -> bool:
        """Run one request. False: the client must not be given another one for now.

        Either something halts it, or its batch has run for so long that others have their turn.
        """
        command = self._table.get(argv[0])
        if command is None or command.subcommands:
            command = self._find(client, argv)
            if command is None:
                return self.mark_ns < self.turn_end_ns
        count = len(argv)
        if count != command.arity and (command.arity >= 0 or count < -command.arity):
            self._reject(client, command, errors.wrong_arity(command.fullname))
            return self.mark_ns < self.turn_end_ns
        instance = self.instance
        client.last_command = command
        client.last_interaction_ms = instance.now_ms
        if (client.gates or instance.gates) and not self._admit(client, command, argv):
            return client not in self.postponed and self.mark_ns < self.turn_end_ns
        if instance.blocked.ready_keys and not command.defers_ready_keys:
            self.serve_ready_keys()
        output = client.output
        position = len(output)
        assert command.handler is not None
        reply = self._account(client, command, argv, command.handler)
        if type(reply) is bytes:
            if client.gates or len(output) > position:
                self._answer(client, reply, position)
            else:
                output.append(reply)
        elif type(reply) is Block:
            self._block(client, reply, argv)
            return False
        elif type(reply) is LongReply:
            return self._begin_long_reply(client, reply, argv, position)
        return self.mark_ns < self.turn_end_ns and not client.close_after_reply

    def execute_run(self, client: Client, run: Run) -> bool:
        """Run requests that are alike as a whole. False, and nothing done: `execute` each."""
        instance = self.instance
        # A threshold of 0: the slow log wants to see each by itself.
        if not run or client.gates or instance.gates or instance.monitors or not self._notable_us:
            return False
        replies = xadd_run(client, run)
        if replies is None:
            return False
        client.output.append(replies)
        client.last_command = self._table[b"XADD"]
        client.last_interaction_ms = instance.now_ms
        self._account_run(client, client.last_command, run)
        return True

    def _account_run(self, client: Client, command: Command, run: Run) -> None:
        """Statistics and slow log of a run: each of its requests took its share of the time."""
        stats = self.instance.stats.of(command)
        count, end_ns = len(run), perf_counter_ns()
        elapsed_us = (end_ns - self.mark_ns) // 1000
        self.mark_ns = end_ns
        stats.calls += count
        stats.usec += elapsed_us
        if self._tracks_latency:
            stats.histogram[elapsed_us // count] += count
        self.instance.stats.commands_processed += count
        if elapsed_us // count >= self._notable_us:
            self._note_slow(client, command, run[-1], elapsed_us // count)

    def run(self, client: Client, command: Command, argv: Argv) -> Reply:
        """Run the handler; its reply, as a whole, or its error as a reply."""
        assert command.handler is not None
        reply = self._account(client, command, argv, command.handler)
        return reply.join() if type(reply) is LongReply else reply

    # -- lookup and refusal --------------------------------------------------------------------

    def _find(self, client: Client, argv: Argv) -> Command | None:
        """The command or sub-command in any spelling; answers an error and None if unknown."""
        command = COMMANDS.get(argv[0].lower())
        if command is None and argv[0].lower() in _HTTP_WORDS:
            # Somebody makes a browser send commands to us: what follows must not run.
            self.instance.host.log("warning", f"HTTP request from {client.address!r}: closed")
            self.instance.host.close(client)
            return None
        if command is None:
            self._reject(client, None, errors.unknown_command(argv))
            return None
        if not command.subcommands or len(argv) == 1:
            return command
        found = command.subcommands.get(argv[1].lower())
        if found is None:
            self._reject(client, None, errors.unknown_subcommand(command.fullname, argv[1]))
        return found

    def _reject(self, client: Client, command: Command | None, error: ReplyError) -> None:
        """Answer an error to a request that does not run; it spoils an open transaction."""
        stats = self.instance.stats
        stats.count_error(error.code)
        if command is not None:
            stats.of(command).rejected_calls += 1
        if command is not None and command.fullname == b"exec":
            error = exec_refused(client, error)
        elif client.queue is not None:
            client.dirty_exec = True
        self._answer(client, error.wire, len(client.output))
        self.mark_ns = perf_counter_ns()

    @staticmethod
    def _answer(client: Client, reply: bytes, position: int) -> None:
        """Put a reply in front of the messages that its own command sent to the client.

        CLIENT REPLY OFF drops replies; SKIP drops the one after its own.
        """
        if not client.gates & GATE_SILENT:
            client.output.insert(position, reply)
        elif client.reply_mode == b"SKIP_NEXT":
            client.reply_mode = b"SKIP"
            client.output.insert(position, reply)
        elif client.reply_mode == b"SKIP":
            client.reply_mode = b"ON"
            client.gates &= ~GATE_SILENT

    def _admit(self, client: Client, command: Command, argv: Argv) -> bool:
        """Whether the request runs now; if not, it was answered, queued or postponed."""
        gates = client.gates
        if gates & GATE_AUTH and not command.flags & NO_AUTH:
            self._reject(client, command, ReplyError(errors.NOAUTH))
            return False
        if self.instance.gates & GATE_WRITES_REFUSED and self._needs_disk(client, command):
            assert self.instance.write_refusal is not None
            self._reject(client, command, self.instance.write_refusal)
            return False
        if gates & GATE_SUBSCRIBED and command.fullname not in _WHILE_SUBSCRIBED:
            self._reject(client, command, errors.not_while_subscribed(command.fullname))
            return False
        if gates & GATE_MONITOR and command.flags & (READONLY | WRITE | MAY_REPLICATE):
            self._reject(client, command, ReplyError(errors.MONITOR_KEYSPACE))
            return False
        if self.instance.gates & GATE_LOADING and not self._runs_while_loading(client, command):
            self._reject(client, command, ReplyError(errors.LOADING))
            return False
        if self.instance.gates & GATE_PAUSED and self._postpone(client, command, argv):
            return False  # also what a transaction would queue, as in Redis
        if gates & GATE_MULTI and command.fullname not in _NOT_QUEUED:
            self._enqueue(client, command, argv)
            return False
        return True

    def _enqueue(self, client: Client, command: Command, argv: Argv) -> None:
        assert client.queue is not None
        if command.flags & NO_MULTI:
            self._reject(client, command, ReplyError(errors.NOT_IN_TRANSACTION))
            return
        client.queue.append((command, argv))
        client.queued_bytes += sum(map(len, argv))
        self._answer(client, replies.QUEUED, len(client.output))
        self.mark_ns = perf_counter_ns()

    # -- CLIENT PAUSE --------------------------------------------------------------------------

    def _postpone(self, client: Client, command: Command, argv: Argv) -> bool:
        """Hold the request back if the pause covers it."""
        instance = self.instance
        if self.end_pause_when_over():
            return False
        if instance.pause_writes_only and not self._may_write(client, command):
            return False
        if command.fullname == b"client|unpause":
            return False  # Redis holds it back as well, so that nobody can end the pause there
        self.postponed[client] = argv
        return True

    @staticmethod
    def _needs_disk(client: Client, command: Command) -> bool:
        """Whether a disk that cannot be written stands in the way; PING tells of it, too."""
        if command.fullname == b"exec" and client.queue is not None:
            return any(queued.flags & WRITE for queued, _ in client.queue)
        return bool(command.flags & WRITE) or command.fullname == b"ping"

    @staticmethod
    def _runs_while_loading(client: Client, command: Command) -> bool:
        if command.fullname == b"exec" and client.queue is not None:
            return all(queued.flags & LOADING for queued, _ in client.queue)
        return bool(command.flags & LOADING)

    @staticmethod
    def _may_write(client: Client, command: Command) -> bool:
        if command.fullname == b"exec" and client.queue is not None:
            return any(queued.flags & (WRITE | MAY_REPLICATE) for queued, _ in client.queue)
        return bool(command.flags & (WRITE | MAY_REPLICATE))

    def end_pause_when_over(self) -> bool:
        """Let everybody go on if there was a pause and its time is past."""
        instance = self.instance
        if not instance.paused_until_ms or instance.now_ms < instance.paused_until_ms:
            return False
        instance.pause_until(0)
        self.resume_postponed()
        return True

    def resume_postponed(self) -> None:
        """Let the held-back clients go on; the session runs their request again."""
        for client in self.postponed:
            self.unblocked[client] = None

    # -- running -------------------------------------------------------------------------------

    def _account(self, client: Client, command: Command, argv: Argv, handler: Handler) -> Reply:
        """Call a handler or a retry: errors, statistics, slow log, propagation."""
        instance = self.instance
        stats = instance.stats
        of_command = stats.commands.get(command) or stats.of(command)
        start_ns, dirty = self.mark_ns, instance.dirty
        self._depth += 1
        reply: Reply
        try:
            reply = handler(client, argv)
        except Exception as error:
            of_command.failed_calls += 1
            reply = self._failed(command, error)
        self._depth -= 1
        if instance.sinks or client.gates or instance.monitors or self._unit:
            self._tell_others(client, command, argv, handler, instance.dirty != dirty)
        if type(reply) is Block:
            return reply  # accounted for when it completes
        end_ns = perf_counter_ns()
        self.mark_ns = end_ns
        elapsed_us = (end_ns - start_ns) // 1000
        of_command.calls += 1
        of_command.usec += elapsed_us
        if self._tracks_latency:
            of_command.histogram[elapsed_us] += 1
        stats.commands_processed += 1
        if elapsed_us >= self._notable_us:
            self._note_slow(client, command, argv, elapsed_us)
        return reply

    def _failed(self, command: Command, error: Exception) -> bytes:
        """What the client is told. A defect of ours must not take the other clients with it."""
        instance = self.instance
        if isinstance(error, ReplyError):
            instance.stats.count_error(error.code)
            return error.wire
        text = "".join(traceback.format_exception(error))
        instance.host.log("warning", f"{command.fullname!r} failed: {text}")
        instance.stats.count_error(b"ERR")
        return INTERNAL_ERROR

    def _tell_others(
        self, client: Client, command: Command, argv: Argv, handler: Handler, is_dirty: bool
    ) -> None:
        """Monitors, caches, sinks: a command has run, and perhaps changed something."""
        instance = self.instance
        if (
            instance.monitors
            and handler is command.handler
            and not command.flags & (SKIP_MONITOR | ADMIN)
        ):
            feed_monitors(instance, client, argv)
        if client.gates & GATE_TRACKING:
            instance.tracking.command_ran(client, command, argv)
        if instance.sinks:
            # EXEC has no WRITE flag: what it ran has spoken for itself.
            self._propagate(client, argv, is_dirty and bool(command.flags & WRITE))
        else:
            self._unit = []  # the file was switched off meanwhile: nobody wants it any more

    def _note_slow(self, client: Client, command: Command, argv: Argv, elapsed_us: int) -> None:
        """The slow log and the latency monitor, each by its own threshold."""
        instance = self.instance
        slow_us = instance.config.slowlog_log_slower_than
        if elapsed_us >= slow_us >= 0 and not command.flags & SKIP_SLOWLOG:
            instance.slowlog.record(client, argv, elapsed_us, instance.now_ms)
        spike_ms = instance.config.latency_monitor_threshold
        if spike_ms and elapsed_us >= spike_ms * 1000:
            event = b"fast-command" if command.flags & FAST else b"command"
            instance.latency.sample(event, elapsed_us // 1000, instance.now_ms)

    def _propagate(self, client: Client, argv: Argv, changed: bool) -> None:
        """Collect what the command propagates; hand it on when the outermost one is done."""
        explicit, client.propagated = client.propagated, None
        if explicit is not None:
            self._collect(client.db.index, explicit)
        elif changed:
            self._collect(client.db.index, [argv])
        if self._unit and not self._depth:
            self._hand_on()
            client.write_offset = self.instance.propagated_units

    @property
    def is_in_transaction(self) -> bool:
        """Whether EXEC runs: what it has changed so far is not propagated yet."""
        return self._depth > 1

    def propagate(self, db_index: int, request: Argv) -> None:
        """Propagate what no client asked for (a key that expired), at its place among the rest."""
        if self.instance.sinks:
            self._collect(db_index, [request])
            if not self._depth:
                self._hand_on()

    def _collect(self, db_index: int, requests: list[Argv]) -> None:
        if not requests:
            return
        if not self._unit:
            self._unit_first_db = db_index
        elif self._unit_db != db_index:
            self._unit.append([b"SELECT", b"%d" % db_index])
        self._unit_db = db_index
        self._unit += requests

    def _hand_on(self) -> None:
        if not self._unit:
            return
        unit, self._unit = self._unit, []
        if len(unit) > 1:
            unit = [[b"MULTI"], *unit, [b"EXEC"]]
        self.instance.emit(self._unit_first_db, unit)

    # -- long replies --------------------------------------------------------------------------

    def _begin_long_reply(
        self, client: Client, reply: LongReply, argv: Argv, position: int
    ) -> bool:
        """Have a reply made and sent piece by piece. True: that is done already."""
        if self.long_replies is None or client.gates & GATE_SILENT:
            wire = reply.join() if self.long_replies is None else b""
            reply.end()
            self._answer(client, wire, position)
            return True
        reply.request = argv
        reply.behind = client.output[position:]
        del client.output[position:]
        client.long_reply = reply
        self.long_replies.begin(client)
        return False

    def end_long_reply(self, client: Client, reply: LongReply) -> None:
        """All of it is made: account for the time that it took, and let the client go on."""
        client.output += reply.behind
        client.long_reply = None
        command = client.last_command
        assert command is not None
        self.instance.stats.of(command).usec += reply.used_us
        if reply.used_us >= self._notable_us:
            self._note_slow(client, command, reply.request, reply.used_us)
        self.unblocked[client] = None

    # -- blocked clients -----------------------------------------------------------------------

    def _block(self, client: Client, block: Block, argv: Argv) -> None:
        now_ms = self.instance.now_ms
        deadline_ms = now_ms + block.timeout_ms if block.timeout_ms else 0
        self.instance.blocked.block(client, block, deadline_ms, argv)

    def serve_ready_keys(self) -> None:
        """Serve the waiters of every ready key, first come first served."""
        blocked = self.instance.blocked
        while blocked.ready_keys:
            for watched in blocked.take_ready_keys():
                self._serve_waiters(watched)

    def _serve_waiters(self, watched: WatchedKey) -> None:
        """Run the commands of those again who wait for a key that is ready.

        What one of them gets, all get who wait with the same common Block.
        """
        blocked = self.instance.blocked
        answers: dict[Block, bytes] = {}
        repeated = 0
        for client in list(blocked.waiters.get(watched, ())):
            waiting = client.waiting
            if waiting is None or watched not in waiting.watched:
                continue
            answer = answers.get(waiting.block)
            if answer is not None and not client.gates:
                blocked.unblock(client)
                client.output.append(answer)
                self.unblocked[client] = None
                repeated += 1
                continue
            block, reply = waiting.block, self._serve(client, waiting, *watched)
            if block.is_common and type(reply) is bytes:
                answers[block] = reply
        if repeated:
            self._account_repeated(repeated)

    def _serve(self, client: Client, waiting: Waiting, db_index: int, key: bytes) -> Reply:
        """Run a waiter's command again because `key` is ready; what it was answered, if it was."""
        value = self.instance.databases[db_index].values.get(key)
        if type(value) is not Stream and not waiting.block.on_missing_key:
            return None  # XREAD waits on, whatever else the key holds now
        reply = self._retry(client, waiting)
        if type(reply) is Block:
            self.instance.blocked.requeue(client, reply)
        return reply

    def _account_repeated(self, count: int) -> None:
        """Statistics of XREADs that got what was made for another one: that took no time."""
        stats = self.instance.stats
        of_xread = stats.of(self._table[b"XREAD"])
        of_xread.calls += count
        if self._tracks_latency:
            of_xread.histogram[0] += count
        stats.commands_processed += count
        stats.keyspace_hits += count

    def wake_blocked(self, now_ms: int) -> None:
        """Run the commands again for which time alone may have brought something."""
        for client in self.instance.blocked.take_woken(now_ms):
            self.wake(client)

    def wake(self, client: Client) -> None:
        """Run a client's command again if it still waits; it may go on to wait."""
        if client.waiting is not None:
            reply = self._retry(client, client.waiting)
            if type(reply) is Block:
                self.instance.blocked.wait_on(client, reply)

    def _retry(self, client: Client, waiting: Waiting) -> Reply:
        """Run a waiter's command again: what it is answered, or the decision to wait on.

        None if it is refused, or gone.
        """
        assert client.last_command is not None
        block = waiting.block
        if block.on_missing_key and self.instance.host.peer_is_gone(client):
            # An entry of a group is never delivered to a client that has left.
            self.instance.host.close(client)
            return None
        refusal = self.instance.write_refusal
        if refusal is not None and client.last_command.flags & WRITE:
            # What cannot be made durable is not delivered either; Redis asks again as well.
            self.instance.stats.count_error(refusal.code)
            self.unblock(client, refusal.wire)
            return None
        reply = self._account(
            client,
            client.last_command,
            waiting.argv,
            lambda client, _: block.retry(client) or block,
        )
        if type(reply) is Block:
            return reply
        if type(reply) is LongReply:
            reply = reply.join()
        assert type(reply) is bytes
        self.unblock(client, reply)
        if client.gates & GATE_TRACKING and client.last_command.flags & READONLY:
            self.instance.tracking.remember_keys(client, block.keys)
        return reply

    def unblock(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client and let it go on with its next request."""
        self.instance.blocked.unblock(client)
        self._answer(client, reply, len(client.output))
        self.instance.host.wake(client)
        self.unblocked[client] = None

    def expire_blocked(self, now_ms: int) -> None:
        """Answer the clients whose deadline has come."""
        for client in self.instance.blocked.take_expired(now_ms):
            assert client.waiting is not None
            self.unblock(client, client.waiting.block.timeout_reply)
