"""A client's session, without its socket: takes bytes, and runs their requests in order.

A session keeps the requests that cannot run yet, because an earlier one blocks, is held back by
CLIENT PAUSE, or has used up the client's time slice. The connection (server/loop/connection.py) and
the in-process server (server/inprocess/server.py) are thin shells around it.
"""

from __future__ import annotations

from collections import deque

import cython

from commands.config.configuration import Configuration
from commands.connection.client_memory import (
    drop_for_output,
    output_limit,
    output_room_bytes,
    words_bytes,
)
from commands.core.client import Client
from commands.core.gates import GATE_AUTH, GATE_REPLICA, GATE_SILENT
from commands.core.stats import Stats
from commands.replication.replica_table import ReplicaTable
from protocol import replies
from protocol.cutter import Cutter
from protocol.request import Request
from protocol.requests import Argv, Limits, RequestReader
from server.requests.dispatch import Dispatcher

# How many bytes are parsed at a time of what a client sent at once, or while it was halted.
_PIECE_BYTES: cython.Py_ssize_t = 128 * 1024
# The same for inline commands: each line is parsed by itself, and there are more of them.
_LINES_BYTES: cython.Py_ssize_t = 4 * 1024
# An unfinished request of up to this many bytes is kept, to be cut with the bytes that follow.
_UNFINISHED_BYTES: cython.Py_ssize_t = 16 * 1024
_ASTERISK: cython.int = ord("*")
_AUTH: cython.long = GATE_AUTH
_REPLICA: cython.long = GATE_REPLICA


@cython.cclass
class Session:
    """Feeds one client's requests to the dispatcher."""

    def __init__(self, client: Client, dispatcher: Dispatcher) -> None:
        self.client = client
        self.dispatcher = dispatcher
        self.turns = dispatcher.turns
        limits = request_limits(client.instance.config)
        self.reader = RequestReader(limits, not client.gates & GATE_AUTH)
        self.limit(limits)
        self._is_between = True  # `reader.is_between`
        # After a request that halts the client: the rest of its batch, then the bytes received
        # since. These are not parsed yet: parsed requests take many times the memory.
        self.backlog: deque[Argv] = deque()
        self.unread = bytearray()
        # The bytes of the request that the reader has not finished, or nothing: see _read().
        self.unfinished = b""
        # Bytes of the replies, before login, to what arrived at once.
        self.burst_bytes = 0

    def limit(self, limits: Limits) -> None:
        """Set the limits on what the client may send."""
        self.reader.limits = limits
        self._harmless_bytes = limits.harmless_bytes
        self._max_buffer_bytes = limits.max_buffer_bytes

    def receive(self, data: bytes) -> None:
        """Take bytes from the client. `Dispatcher.start_batch` must be called before."""
        client: Client = self.client
        stats: Stats = client.instance.stats
        stats.inputs_processed += 1
        client.reads += 1
        client.net_input_bytes += len(data)
        if self.client.gates & _REPLICA:
            # Any byte is a sign of life, also a newline, which is no request.
            replica = self.client.instance.feature(ReplicaTable).replicas.get(self.client)
            if replica is not None:
                replica.heard_ms = self.client.instance.now_ms
        if self.unread or self.backlog or self.turns.is_halted(self.client):
            self.unread += data
        elif not self.client.gates & _AUTH and len(data) <= self._piece_bytes(data):
            self._read(data)
        else:
            self.burst_bytes = 0
            self.unread += data
            self._read_unread()
        self._check_reader()

    def resume(self) -> None:
        """Go on with the client's requests: it was unblocked, has its next time slice, or a pause
        is over."""
        if not (self.backlog or self.unread or self.reader.error or self.turns.has_postponed):
            return
        held_back = self.turns.take_postponed(self.client)
        if held_back is not None:
            self.backlog.appendleft(held_back)
            self.client.backlog_bytes += words_bytes(held_back)
        if not self.is_halted:
            requests, self.backlog = list(self.backlog), deque()
            self.client.backlog_bytes = 0
            self._run(requests)
        self._read_unread()
        self._check_reader()

    @property
    def is_halted(self) -> bool:
        """True if the client's next requests must wait."""
        return self.turns.is_halted(self.client)

    def _read_unread(self) -> None:
        """Read unread bytes until a request halts the client, or its time slice is used up."""
        dispatcher = self.dispatcher
        while self.unread and not self.backlog and not self.is_halted:
            end = _piece_end(self.unread, self._piece_bytes(self.unread))
            data = bytes(self.unread[:end])
            del self.unread[:end]
            if not self.client.gates & _AUTH:
                self._read(data)
            else:
                self._read_before_login(data)
            dispatcher.mark()  # the bytes may be a part of one long request, and no command
            if dispatcher.mark_ns > dispatcher.turn_end_ns and self.unread:
                self.turns.give_way(self.client)
                return

    @cython.cfunc
    def _read(self, data: bytes) -> None:
        """Parse bytes, and run their requests.

        Reads of a long pipeline end within a request. The reader gets its beginning, for the limits
        and errors, but with the next bytes it is cut as a whole, and so are those after it. That
        takes linear time: these bytes are at least as many.
        """
        reader = self.reader
        if not reader.authenticated:
            reader.authenticated = True  # the default user needs no password any more
        unfinished, self.unfinished = self.unfinished, b""
        if unfinished and len(data) >= len(unfinished):
            reader.drop_unfinished()
            self._is_between = reader.is_between
            data = unfinished + data
        is_cut: cython.bint = cython.compiled and self._is_between
        if is_cut and len(data) <= self._harmless_bytes:
            position = self._run_cut(data)
            if position == len(data):
                return
            if self.is_halted or self.turns.has_given_way(self.client):
                self.unread[:0] = data[position:]
                return
            data = data[position:]
        requests = reader.feed(data)
        self._is_between = reader.is_between
        if is_cut and not requests and data.startswith(b"*") and len(data) <= _UNFINISHED_BYTES:
            self.unfinished = data
        self._count_batch(len(requests))
        self._run(requests)

    def _read_before_login(self, data: bytes) -> None:
        """Parse and run requests one by one: an AUTH among them changes the parser's limits.

        As in Redis, a client that has not logged in and lets its replies pile up is dropped.
        """
        client, reader = self.client, self.reader
        reader.authenticated = False
        self.unfinished = b""
        most_bytes = output_limit(client).hard_bytes
        counted = len(client.output)
        requests = 0
        for argv, left in reader.feed_each(data):
            requests += 1
            goes_on = self.dispatcher.execute(client, Request(argv))
            has_logged_in = not client.gates & GATE_AUTH
            reader.authenticated = has_logged_in
            # Replies of one burst count as a whole, however many turns they take.
            self.burst_bytes += sum(map(len, client.output[counted:]))
            counted = len(client.output)
            if most_bytes and self.burst_bytes >= most_bytes:
                drop_for_output(client)
            if not goes_on or has_logged_in or client.closed:
                self.unread[:0] = data[len(data) - left :]
                break
        self._count_batch(requests)
        self.dispatcher.count_quick()
        self._is_between = reader.is_between

    @cython.cfunc
    def _piece_bytes(self, data: bytes | bytearray) -> cython.Py_ssize_t:
        """Return the number of these bytes that are parsed at a time.

        A part of a large argument is only added to it, however long it is.
        """
        if not self._is_between and len(data) <= self.reader.missing_bytes:
            return len(data)
        if self._is_between and data and data[0] == _ASTERISK:
            return _PIECE_BYTES
        return _LINES_BYTES if self.reader.expects_line(data) else _PIECE_BYTES

    @cython.cfunc
    def _run_cut(self, data: bytes) -> cython.Py_ssize_t:
        """Run the whole requests that the cutter finds; returns the number of bytes used.

        The rest is for the reader, or for later, if the client is halted or its time slice is over.
        """
        dispatcher: Dispatcher = self.dispatcher
        client: Client = self.client
        cutter: Cutter = dispatcher.cutter
        cutter.load(data)
        room_bytes = output_room_bytes(client)
        output: list[bytes] = client.output
        counted: cython.Py_ssize_t = 0
        position: cython.Py_ssize_t = 0
        requests: cython.Py_ssize_t = 0
        while cutter.next():
            position = cutter.position
            requests += 1
            goes_on: cython.bint = dispatcher.execute(client, cutter)
            if client.closed:
                position = len(data)
                break
            if not goes_on:
                if position < len(data) and not self.is_halted:
                    self.turns.give_way(client)
                break
            if room_bytes is not None:
                # The replies of one batch are sent together: only here is their total size known.
                room_bytes -= sum(map(len, output[counted:]))
                counted = len(output)
                if room_bytes <= 0:
                    drop_for_output(client)
                    position = len(data)
                    break
        self._count_batch(requests)
        dispatcher.count_quick()
        return position

    @cython.cfunc
    def _count_batch(self, requests: cython.Py_ssize_t) -> None:
        """Count requests that were parsed together, for CLIENT LIST and INFO."""
        if requests:
            client: Client = self.client
            client.batches += 1
            client.batched_requests += requests
            stats: Stats = client.instance.stats
            stats.batches += 1
            stats.batched_requests += requests

    def _run(self, requests: list[Argv]) -> None:
        """Run requests until one halts the client, or its time slice is over."""
        self._run_each(requests)
        self.dispatcher.count_quick()

    @cython.cfunc
    def _run_each(self, requests: list[Argv]) -> None:
        dispatcher, client = self.dispatcher, self.client
        # The replies of one batch are sent together: only here is their total size known.
        room_bytes = output_room_bytes(client) if len(requests) > 1 else None
        counted = 0
        for position, argv in enumerate(requests):
            if not dispatcher.execute(client, Request(argv)) or client.closed:
                self._hold_back(requests[position + 1 :])
                return
            if room_bytes is not None:
                room_bytes -= sum(map(len, client.output[counted:]))
                counted = len(client.output)
                if room_bytes <= 0:
                    drop_for_output(client)
                    return

    def _hold_back(self, requests: list[Argv]) -> None:
        """Keep the rest of a batch: the client is halted, or has used up its time slice."""
        if requests:
            self.backlog.extend(requests)
            self.client.backlog_bytes += sum(map(words_bytes, requests))
            if not self.is_halted:
                self.turns.give_way(self.client)

    def _check_reader(self) -> None:
        """Answer the reader's protocol error, once the requests before it are answered."""
        client, reader = self.client, self.reader
        if client.closed:
            return
        buffered_bytes: cython.Py_ssize_t = 0 if self._is_between else reader.buffered_bytes
        client.query_buffer_bytes = buffered_bytes + len(self.unread)
        # A transaction's queued requests have not run yet: they count like unread input.
        held_bytes: cython.Py_ssize_t = client.query_buffer_bytes + client.queued_bytes
        if self._is_between and held_bytes <= self._max_buffer_bytes:
            return
        if reader.overflowed or held_bytes > self._max_buffer_bytes:
            client.instance.stats.client_query_buffer_limit_disconnections += 1
            self._drop("query buffer limit")
        elif reader.error is not None and not self.backlog and not self.is_halted:
            if not client.gates & GATE_SILENT:
                client.output.append(replies.error(b"ERR " + reader.error.encode("latin-1")))
            client.close_after_reply = True

    def _drop(self, reason: str) -> None:
        """Close the connection at once, with no reply."""
        client = self.client
        line = f"{reason}: closing {client.address.decode()}"
        client.instance.host.log_bounded("warning", reason, line)
        client.connection.abort()


def _piece_end(unread: bytearray, most: int) -> int:
    """Where a piece of unread input ends: at what looks like a boundary between requests."""
    if len(unread) <= most:
        return len(unread)
    mark = unread.rfind(b"\r\n*", 0, most)
    return mark + 2 if mark >= 0 else most


def request_limits(config: Configuration) -> Limits:
    """The limits of the configuration on what a connection may send."""
    return Limits(
        max_bulk_bytes=config.proto_max_bulk_len,
        max_buffer_bytes=config.client_query_buffer_limit,
    )
