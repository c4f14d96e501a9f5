"""Blocked clients: serves them when a key is ready, and times them out.

Serving a waiter means running its command again. That happens when a key that it waits for is ready
(`serve_ready_keys`), when the passing of time may have changed the result (`retry_due`), and on
request (`retry`). The client is answered, or it blocks on; `unblock` answers it with a given reply.

`ClientQueues` has the clients that go on later: at the end of the cycle, after the next poll, after
a pause. A client that is not ready keeps its requests unread (server/requests/session.py).
`ClientState` (commands/core/client.py) has the states; docs/architecture/server.md has their
reasons. Guarantees: a client that leaves a halting state resumes in the same cycle; those that
yielded go on one at a time, in order, after the loop has polled. Clients that have not logged in
(strangers) are in a queue of their own, so that no number of them delays the others.

Leaves out: the queues of waiters and their deadlines (commands/core/blocked_clients.py);
when ready keys are served (server/requests/dispatch.py and server/loop/cycle.py).
"""

from __future__ import annotations

from typing import TypeAlias

import cython

from commands.acl.checks import refusal as refusal_by_user
from commands.cluster.routing import refusal_of_waiting
from commands.connection.invalidation_table import TrackingTable
from commands.core.blocked_clients import Block, BlockedClients, Waiting
from commands.core.client import Client, ClientEvent, ClientState
from commands.core.gates import (
    GATE_AUTH,
    GATE_BUSY,
    GATE_MIGRATING,
    GATE_OUT_OF_MEMORY,
    GATE_RESTRICTED,
    GATE_TRACKING,
    HOLDING_GATES,
)
from commands.core.instance import Instance, WatchedKey
from commands.core.long_reply import LongReply
from commands.core.registry import (
    COMMANDS,
    DENYOOM,
    READONLY,
    WRITE,
    Command,
    CommandTable,
    Reply,
    Runner,
)
from commands.keys.migrate import MovingKeys
from protocol import errors
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from server.requests.command_clock import Answering, CommandClock

# After how long a command that may write is looked at again while writes are held back.
HELD_MS = 10

_POSTPONE: cython.int = ClientEvent.POSTPONE
_RESUME: cython.int = ClientEvent.RESUME
_YIELD: cython.int = ClientEvent.YIELD
_GO_ON: cython.int = ClientEvent.GO_ON
_AUTH: cython.long = GATE_AUTH
_BEING_ANSWERED = {ClientState.BEING_ANSWERED, ClientState.RESUMING, ClientState.YIELDED}

Queue: TypeAlias = dict[Client, None]


@cython.cclass
class ClientQueues:
    """The clients of one server that go on later."""

    def __init__(self) -> None:
        self._postponed: dict[Client, None] = {}  # Client.postponed is what each has asked for
        self._yielded: dict[Client, None] = {}
        self.strangers: dict[Client, None] = {}  # those of them that have not logged in
        self._resuming: dict[Client, None] = {}

    def postpone(self, client: Client, request: Argv) -> None:
        """Halt the client. `request` is kept until it resumes."""
        client.enter(_POSTPONE)
        client.postponed = request
        self._postponed[client] = None

    def resume_postponed(self) -> None:
        """Let the postponed clients resume. Their requests are admitted again, or not."""
        for client in self._postponed:
            self.resume(client)
        self._postponed.clear()

    def resume(self, client: Client) -> None:
        """Let the client go on at the end of this cycle: nothing halts it any more."""
        client.enter(_RESUME)
        self._resuming[client] = None

    def take_resuming(self) -> list[Client]:
        """The clients that go on now, in the order in which they were allowed to."""
        clients = list(self._resuming)
        self._resuming.clear()
        for client in clients:
            client.enter(_GO_ON)
        return clients

    def add_yielded(self, client: Client) -> None:
        """The client has used up its time slice: it goes on after the next poll."""
        client.enter(_YIELD)
        if client.gates & _AUTH:
            self.strangers[client] = None
        else:
            self._yielded[client] = None

    @property
    def has_yielded(self) -> bool:
        """True if any client waits for its next time slice."""
        return bool(self._yielded or self.strangers)

    def take_yielded(self) -> Client | None:
        """The client whose time slice is next, None if there is none."""
        return _take_first(self._yielded)

    def take_stranger(self) -> Client | None:
        """`take_yielded` among the clients that have not logged in."""
        return _take_first(self.strangers)

    def forget(self, client: Client) -> None:
        """The client is closed."""
        client.postponed = None
        for queue in (self._postponed, self._yielded, self.strangers, self._resuming):
            queue.pop(client, None)

    def stop(self) -> None:
        """The server has ended: no client goes on."""
        self._yielded.clear()
        self.strangers.clear()
        self._resuming.clear()


def _take_first(queue: Queue) -> Client | None:
    for client in queue:
        del queue[client]
        client.enter(_GO_ON)
        return client
    return None


def is_being_answered(client: Client) -> bool:
    """Return True if a request is under way and does not wait for other clients."""
    return client.state in _BEING_ANSWERED or (not client.closed and bool(client.output))


class Waiters:
    """The blocked clients of one server."""

    def __init__(
        self,
        instance: Instance,
        queues: ClientQueues,
        runner: Runner,
        clock: CommandClock,
        answering: Answering,
    ) -> None:
        self._instance = instance
        self._queues = queues
        self._runner = runner
        self._clock = clock
        self._answering = answering
        self._blocked = instance.feature(BlockedClients)
        self._commands = instance.feature(CommandTable)

    def block(self, client: Client, block: Block, argv: Argv) -> None:
        """Block a client."""
        monotonic_ms = self._instance.monotonic_ms
        deadline_ms = monotonic_ms + block.timeout_ms if block.timeout_ms else 0
        self._blocked.block(client, block, deadline_ms, argv)

    def unblock(
        self, client: Client, reply: bytes | LongReply, position: int | None = None
    ) -> None:
        """Answer a blocked client, and resume it with its next request.

        `position`: where in its output; by default at the end.
        """
        argv = self._blocked.clients[client].argv
        self._blocked.unblock(client)
        if position is None:
            position = len(client.output)
        if not isinstance(reply, LongReply):
            self._answering.answer(client, reply, position)
        elif not self._runner.begin_long_reply(client, reply, argv, position):
            return  # it goes on after the last piece
        client.connection.send_soon()
        self._queues.resume(client)

    def end(self, client: Client, reply: bytes) -> None:
        """Answer a client whose command is over without being run again; it counts as a call."""
        command = self._commands.find(self._blocked.clients[client].argv)
        assert command is not None
        self._clock.count_repeated(command, 1)
        client.commands += 1
        if reply.startswith(b"-"):
            self._instance.stats.of(command).failed_calls += 1
        self.unblock(client, reply)

    # -- ready keys ----------------------------------------------------------------------------

    def serve_ready_keys(self) -> None:
        """Serve the waiters of every ready key, first come first served."""
        ready_keys = self._instance.ready_keys
        if self._instance.gates & GATE_BUSY:
            return  # the running script may still remove what it has added
        while ready_keys.signalled:
            for watched in ready_keys.take():
                self._serve_key(watched)

    def _serve_key(self, watched: WatchedKey) -> None:
        """Run the commands of the clients again that wait for a ready key.

        Clients that wait with the same common Block share one reply.
        """
        blocked = self._blocked
        answers: dict[Block, bytes] = {}
        repeated = 0
        for client in list(blocked.waiters.get(watched, ())):
            waiting = blocked.clients.get(client)
            if waiting is None or client not in blocked.waiters.get(watched, ()):
                continue  # it was served meanwhile
            answer = answers.get(waiting.block)
            if answer is not None and not client.gates:
                blocked.unblock(client)
                client.commands += 1
                client.output.append(answer)
                self._queues.resume(client)
                repeated += 1
                continue
            block, reply = waiting.block, self._serve(client, waiting, *watched)
            if block.is_common and type(reply) is bytes:
                answers[block] = reply
        if repeated:
            self._clock.count_repeated(COMMANDS[b"xread"], repeated)
            self._instance.stats.keyspace_hits += repeated

    def _serve(self, client: Client, waiting: Waiting, db_index: int, key: bytes) -> Reply:
        """Run a waiter's command again because `key` is ready; its reply, None if it waits on."""
        value = self._instance.databases[db_index].values.get(key)
        block = waiting.block
        if type(value) is not block.value_type and not block.on_missing_key:
            return None  # the key holds another type now: the client waits on
        if self._instance.gates & GATE_MIGRATING and self._may_write_moving(waiting):
            self._hold(client, waiting)
            return None
        reply = self._retry(client, waiting)
        if type(reply) is Block:
            self._blocked.requeue(client, reply)
        return reply

    # -- time ----------------------------------------------------------------------------------

    def retry_due(self, monotonic_ms: int) -> None:
        """Run the commands again whose result may change with time alone.

        While writes are held back, those that may write are looked at again a moment later.
        """
        for client in self._blocked.take_woken(monotonic_ms):
            waiting = self._blocked.clients[client]
            if self._instance.gates & HOLDING_GATES and self._may_write(waiting):
                self._hold(client, waiting)
            else:
                self.retry(client)

    def _hold(self, client: Client, waiting: Waiting) -> None:
        """Look at a waiter again a moment later."""
        waiting.block.wake_ms = self._instance.monotonic_ms + HELD_MS
        self._blocked.wait_on(client, waiting.block)

    def _may_write_moving(self, waiting: Waiting) -> bool:
        """Return True if a waiter may write a key that MIGRATE sends: BLMOVE, into another list."""
        command = self._commands.find(waiting.argv)
        moving = self._instance.feature(MovingKeys)
        return command is not None and moving.may_be_written([(command, Request(waiting.argv))])

    def _may_write(self, waiting: Waiting) -> bool:
        command = self._commands.find(waiting.argv)
        return command is not None and bool(command.flags & WRITE)

    def retry(self, client: Client) -> None:
        """Run a client's command again if it is still blocked; it may block again."""
        waiting = self._blocked.clients.get(client)
        if waiting is not None:
            reply = self._retry(client, waiting)
            if type(reply) is Block:
                self._blocked.wait_on(client, reply)

    def expire(self, monotonic_ms: int) -> None:
        """Answer the clients whose timeout is over."""
        for client in self._blocked.take_expired(monotonic_ms):
            timeout_reply = self._blocked.clients[client].block.timeout_reply
            assert timeout_reply is not None
            self.end(client, timeout_reply)

    # -- running again -------------------------------------------------------------------------

    def _retry(self, client: Client, waiting: Waiting) -> Reply:
        """Run a waiter's command again: its reply, or its Block if it waits on.

        None if the command is refused, or the client's peer has closed.
        """
        block, command = waiting.block, self._commands.find(waiting.argv)
        assert command is not None
        if self._instance.is_cluster:
            elsewhere = refusal_of_waiting(client, command, waiting.argv)
            if elsewhere is not None:
                self._refuse(client, command, elsewhere)
                return None
        if client.gates & GATE_RESTRICTED and block.keys:
            denied = refusal_by_user(client, command, waiting.argv)
            if denied is not None:
                self._refuse(client, command, denied)
                return None
        if self._instance.gates & GATE_OUT_OF_MEMORY and command.flags & DENYOOM:
            self._refuse(client, command, ReplyError(errors.OUT_OF_MEMORY))
            return None
        refusal = self._instance.write_refusal
        if refusal is None and block.finds_nothing is not None and block.finds_nothing(client):
            return block
        takes = command.flags & WRITE
        if takes and client.connection.peer_has_closed():
            # No entry of a group and no element is delivered to a client that has left.
            client.connection.abort()
            return None
        if refusal is not None and takes:
            # As in Redis, nothing is delivered whose delivery cannot be made durable.
            self._instance.stats.count_error(refusal.code)
            self.end(client, refusal.wire)
            return None
        position = len(client.output)
        request = Request(waiting.argv)
        reply = self._runner.account(
            client, command, request, lambda client, _: block.retry(client) or block
        )
        if type(reply) is Block:
            return reply
        assert type(reply) is bytes or type(reply) is LongReply
        self.unblock(client, reply, position)  # before the messages that the command has caused
        if client.gates & GATE_TRACKING and command.flags & READONLY:
            self._instance.feature(TrackingTable).remember_keys(client, block.keys)
        return reply

    def _refuse(self, client: Client, command: Command, error: ReplyError) -> None:
        """Answer an error to a client that may not run now what it waits with."""
        self._instance.stats.count_error(error.code)
        self._instance.stats.of(command).rejected_calls += 1
        self.unblock(client, error.wire)
