"""A client's session, without its socket: takes bytes, and runs their requests in order.

A session keeps the requests that cannot run yet, because an earlier one blocks, is held back by
CLIENT PAUSE, or has used up the client's time slice. The connection (server/loop/connection.py) and
the in-process server (server/inprocess/server.py) are thin shells around it.

Strangers, the clients that have not logged in, share one time slice in each cycle. One is closed
after MOST_REFUSED requests within a second that have not logged it in.
"""

from __future__ import annotations

import cython

from commands.config.configuration import Configuration
from commands.connection.client_memory import (
    MAX_UNSENT_BYTES,
    drop_for_output,
    output_limit,
    output_room_bytes,
    waits_for_peer,
)
from commands.core.client import Client, ClientEvent, ClientState
from commands.core.gates import GATE_AUTH, GATE_REPLICA, GATE_SILENT
from commands.core.instance import Stats
from commands.replication.replica_table import ReplicaTable
from protocol import replies
from protocol.request import Request
from protocol.requests import Limits, RequestReader
from server.requests.command_clock import CommandClock
from server.requests.dispatch import Dispatcher

_READY: cython.int = ClientState.READY
_BEING_ANSWERED: cython.int = ClientState.BEING_ANSWERED
_ANSWER: cython.int = ClientEvent.ANSWER
_CLOSED: cython.int = ClientState.CLOSED
_MAX_UNSENT_BYTES: cython.Py_ssize_t = MAX_UNSENT_BYTES
_UNLIMITED_BYTES: cython.Py_ssize_t = 1 << 62
_AUTH: cython.long = GATE_AUTH
_REPLICA: cython.long = GATE_REPLICA
# A health check without a password, and a client that tries a few, send far less.
MOST_REFUSED = 100
_REFUSED_WITHIN_MS = 1000


@cython.cclass
class Session:
    """Feeds one client's requests to the dispatcher."""

    def __init__(self, client: Client, dispatcher: Dispatcher) -> None:
        self.client = client
        self.dispatcher = dispatcher
        self.queues = dispatcher.queues
        limits = request_limits(client.instance.config)
        self.reader: RequestReader = RequestReader(limits, dispatcher.cutter)
        # Bytes of the replies, before login, to what arrived at once.
        self.burst_bytes = 0
        # The requests that were refused before login, in the second that began then.
        self._refused = 0
        self._refused_since_ms = 0
        # Whether input has waited for the peer to read; until that is less than the buffer's limit.
        self._is_behind = False
        self._holds = False  # whether requests wait once there is no room for output

    def receive(self, data: bytes) -> None:
        """Take bytes from the client. `Dispatcher.start_batch` must be called before."""
        client: Client = self.client
        reader: RequestReader = self.reader
        stats: Stats = client.instance.stats
        stats.inputs_processed += 1
        client.reads += 1
        client.net_input_bytes += len(data)
        if client.gates & _REPLICA:
            # Any byte is a sign of life, also a newline, which is no request.
            replica = client.instance.feature(ReplicaTable).replicas.get(client)
            if replica is not None:
                replica.heard_ms = client.instance.monotonic_ms
        if client.state != _READY:
            reader.hold(data)
        else:
            self.burst_bytes = 0
            if client.gates & _AUTH:
                self._receive_from_stranger(data)
            else:
                reader.authenticated = True
                reader.feed(data)
                self._run(None)
        self._check_reader()

    @cython.cfunc
    def _receive_from_stranger(self, data: bytes) -> None:
        """Run the requests in the time slice of strangers, after the strangers that wait for it."""
        clock: CommandClock = self.dispatcher.clock
        if self.queues.strangers or not clock.admits_strangers():
            self.reader.hold(data)
            self.queues.add_yielded(self.client)
            return
        self.reader.authenticated = False
        self.reader.feed(data)
        self._run_as_stranger(None)

    @cython.cfunc
    def _run_as_stranger(self, request: Request | None) -> None:
        clock: CommandClock = self.dispatcher.clock
        clock.limit_slice_of_stranger()
        start_ns: cython.long = clock.mark_ns
        self._run(request)
        clock.end_slice_of_stranger(start_ns)

    def resume(self) -> None:
        """Go on with the client's requests: it was unblocked, has its next time slice, or a pause
        is over."""
        client: Client = self.client
        reader: RequestReader = self.reader
        postponed, client.postponed = client.postponed, None
        if client.state != _READY or not (postponed or reader.unread_bytes()):
            return
        request = None if postponed is None else Request(postponed)
        reader.authenticated = not client.gates & _AUTH
        reader.start()
        if reader.authenticated:
            self._run(request)
        else:
            self._run_as_stranger(request)
        self._check_reader()

    @cython.cfunc
    def _run(self, request: Request | None) -> None:
        """Run a request and those that follow, until one halts the client, or its time slice ends.

        The replies of one batch are sent together: only here is their total size known.
        """
        client: Client = self.client
        dispatcher: Dispatcher = self.dispatcher
        reader: RequestReader = self.reader
        output: list[bytes] = client.output
        is_stranger: cython.bint = client.gates & _AUTH != 0
        room_bytes: cython.Py_ssize_t = self._room_bytes()
        counted: cython.Py_ssize_t = len(output) if is_stranger else 0
        requests: cython.Py_ssize_t = 0
        if request is None:
            if room_bytes <= 0 and self._holds:
                self._hold()
                return
            request = reader.next()
        while request is not None or self._next_piece():
            if request is not None:
                requests += 1
                goes_on: cython.bint = dispatcher.execute(client, request)
                if client.state == _CLOSED:
                    break
                while counted < len(output):
                    made_bytes: cython.Py_ssize_t = len(output[counted])
                    counted += 1
                    room_bytes -= made_bytes
                    if is_stranger:
                        self.burst_bytes += made_bytes
                if room_bytes <= 0 and (goes_on or is_stranger):
                    if not self._holds:
                        drop_for_output(client)
                    elif goes_on:
                        self._hold()
                    break
                if is_stranger:
                    if not client.gates & _AUTH:
                        is_stranger, reader.authenticated = False, True
                        room_bytes = self._room_bytes()
                    elif self._is_refused_too_often():
                        self._finish("too many requests before login")
                        break
                if not goes_on:
                    self._interrupt()
                    break
            request = reader.next()
        self._count_batch(requests)
        dispatcher.clock.count_quick()

    @cython.cfunc
    def _is_refused_too_often(self) -> bool:
        """Count a request that has not logged the client in."""
        monotonic_ms: cython.long = self.client.instance.monotonic_ms
        if monotonic_ms - self._refused_since_ms >= _REFUSED_WITHIN_MS:
            self._refused, self._refused_since_ms = 0, monotonic_ms
        self._refused += 1
        return self._refused >= MOST_REFUSED

    @cython.cfunc
    def _next_piece(self) -> bool:
        """Go on to what else the client has sent; False if there is nothing, or no time for it."""
        clock: CommandClock = self.dispatcher.clock
        if not self.reader.next_piece():
            return False
        clock.mark()  # the bytes may be a part of one long request, and no command
        if clock.mark_ns > clock.slice_end_ns:
            self.queues.add_yielded(self.client)
            return False
        return True

    @cython.cfunc
    def _interrupt(self) -> None:
        """The client's next request must wait: the client is halted, or its time slice is over."""
        if self.reader.unread_bytes():
            self.reader.stop()
            if self.client.state == _READY:
                self.queues.add_yielded(self.client)

    def _room_bytes(self) -> cython.Py_ssize_t:
        """How many bytes of replies the client may get now.

        As in Redis, a client that has not logged in and lets its replies pile up is dropped. The
        replies of one burst count as a whole, however many time slices they take. Without a limit,
        the requests after that many bytes are held (`_holds`).
        """
        client: Client = self.client
        self._holds = False
        if client.gates & _AUTH:
            return output_limit(client).hard_bytes - self.burst_bytes
        if self.dispatcher.send_in_pieces is not None and waits_for_peer(client):
            self._holds = True
            return _MAX_UNSENT_BYTES - client.connection.unsent_bytes()
        room_bytes = output_room_bytes(client)
        return _UNLIMITED_BYTES if room_bytes is None else room_bytes

    @cython.cfunc
    def _hold(self) -> None:
        """Let the client's next request wait until its peer has read output."""
        wait = self.dispatcher.send_in_pieces
        if wait is not None and self.reader.unread_bytes() and self.client.state == _READY:
            self.reader.stop()
            self.client.enter(_ANSWER)
            wait(self.client)

    @cython.cfunc
    def _count_batch(self, requests: cython.Py_ssize_t) -> None:
        """Count requests that ran together, for CLIENT LIST and INFO."""
        if requests:
            client: Client = self.client
            client.batches += 1
            client.batched_requests += requests
            stats: Stats = client.instance.stats
            stats.batches += 1
            stats.batched_requests += requests

    def _check_reader(self) -> None:
        """Answer the reader's protocol error, once the requests before it are answered."""
        client: Client = self.client
        if client.state == _CLOSED:
            return
        reader: RequestReader = self.reader
        unread_bytes: cython.Py_ssize_t = reader.unread_bytes()
        client.query_buffer_bytes = reader.buffered_bytes() + unread_bytes
        # A transaction's queued requests have not run yet: they count like unread input.
        held_bytes: cython.Py_ssize_t = client.query_buffer_bytes + client.queued_bytes
        if client.state == _BEING_ANSWERED:
            self._is_behind = True
        elif self._is_behind:
            self._is_behind = unread_bytes > reader.max_buffer_bytes
        if self._is_behind:
            # It waits for replies to be sent, for which Redis would keep memory instead.
            held_bytes -= unread_bytes
        if reader.overflowed or held_bytes > reader.max_buffer_bytes:
            client.instance.stats.client_query_buffer_limit_disconnections += 1
            self._drop("query buffer limit")
        elif reader.error is not None and client.state == _READY:
            if not client.gates & GATE_SILENT:
                client.output.append(replies.error(b"ERR " + reader.error.encode("latin-1")))
            client.enter(ClientEvent.FINISH)

    def _finish(self, reason: str) -> None:
        """Close the connection once the replies so far are sent."""
        self._log_closing(reason)
        self.client.enter(ClientEvent.FINISH)

    def _drop(self, reason: str) -> None:
        """Close the connection at once, with no reply."""
        self._log_closing(reason)
        self.client.connection.abort()

    def _log_closing(self, reason: str) -> None:
        client = self.client
        line = f"{reason}: closing {client.address.decode()}"
        client.instance.host.log_bounded("warning", reason, line)


def request_limits(config: Configuration) -> Limits:
    """The limits of the configuration on what a connection may send."""
    return Limits(
        max_bulk_bytes=config.proto_max_bulk_len,
        max_buffer_bytes=config.client_query_buffer_limit,
    )
