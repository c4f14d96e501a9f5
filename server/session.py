"""One connection without its socket: bytes in, requests to the dispatcher, in order.

A session holds what the client sent but cannot run yet: requests behind one that blocks or is
held back by CLIENT PAUSE. The connection (server/connection.py) and the in-process server of the
tests (server/inprocess.py) are thin shells around it.
"""

from __future__ import annotations

from collections import deque

from commands.client import GATE_SILENT, Client
from commands.configuration import Configuration
from commands.output_limits import drop_for_output, output_room_bytes
from commands.registry import Argv
from commands.streams.add_each import XADD
from commands.streams.add_run import count_shared, find_run_end
from protocol import replies
from protocol.request_runs import MIN_REQUESTS, RequestRun, TailRun
from protocol.requests import Limits, RequestReader
from server.dispatch import Dispatcher

# How much is read at a time of what a client sent at once, or while it was halted.
_PIECE_BYTES = 128 * 1024
# The same of lines as a person types them: they are read one by one, and there are more of them.
_LINES_BYTES = 4 * 1024


class Session:
    """Feeds one client's requests to the dispatcher."""

    def __init__(self, client: Client, dispatcher: Dispatcher) -> None:
        self.client = client
        self.dispatcher = dispatcher
        self.reader = RequestReader(
            request_limits(client.instance.config), client.authenticated, count_shared
        )
        # Behind a request that halts the client: the rest of its batch, then what came since.
        # That is not read before its time: requests take many times the bytes they came as.
        self.backlog: deque[Argv] = deque()
        self.unread = bytearray()
        # Whether what came last was an XADD, or some that were alike, and nothing is held: what
        # comes next may wait for other clients' (server/gathering.py).
        self.may_gather = False

    def receive(self, data: bytes) -> None:
        """Bytes from the client; the batch was started with the dispatcher before."""
        self.may_gather = False
        if self.client.replica is not None:
            # A newline, which is no request, is a sign of life, too.
            self.client.replica.heard_ms = self.client.instance.now_ms
        if self.unread or self.backlog or self.is_halted:
            self.unread += data
        elif (argv := self.reader.take_single(data)) is not None:
            self.run_alone(argv)
            return
        elif self.client.authenticated and len(data) <= self._piece_bytes(data):
            self.may_gather = self._read(data)
        else:
            self.unread += data
            self._read_unread()
        self._check_reader()

    def receive_run(self, run: RequestRun | TailRun | None, rest: bytes) -> None:
        """As receive(), for what the reader's take_run() made of the bytes."""
        self.may_gather = self._take_run(run, rest)
        self._check_reader()

    def run_alone(self, argv: Argv) -> None:
        """Run a request that came by itself."""
        client = self.client
        goes_on = self.dispatcher.execute(client, argv)
        self.may_gather = goes_on and argv[0] in XADD and not client.gates
        if client.queued_bytes:
            self._check_reader()

    def resume(self) -> None:
        """The client was unblocked, its turn or the end of the pause has come: go on with what it
        sent meanwhile."""
        if not (self.backlog or self.unread or self.reader.error or self.dispatcher.postponed):
            return
        held_back = self.dispatcher.postponed.pop(self.client, None)
        if held_back is not None:
            self.backlog.appendleft(held_back)
        if not self.is_halted:
            requests, self.backlog = list(self.backlog), deque()
            self._run(requests)
        self._read_unread()
        self._check_reader()

    @property
    def is_halted(self) -> bool:
        """Whether requests must wait."""
        client = self.client
        return (
            client.waiting is not None
            or client.long_reply is not None
            or client.close_after_reply
            or client.closed
            or (bool(self.dispatcher.postponed) and client in self.dispatcher.postponed)
        )

    def _read_unread(self) -> None:
        """Read what is unread until a request halts the client, or its turn is over."""
        dispatcher = self.dispatcher
        while self.unread and not self.backlog and not self.is_halted:
            end = _piece_end(self.unread, self._piece_bytes(self.unread))
            data = bytes(self.unread[:end])
            del self.unread[:end]
            if self.client.authenticated:
                self._read(data)
            else:
                self._read_before_login(data)
            dispatcher.mark()  # what was read may be a part of one long request
            if dispatcher.mark_ns > dispatcher.turn_end_ns and self.unread:
                dispatcher.yielded[self.client] = None
                return

    def _read(self, data: bytes) -> bool:
        """Run requests. True: all were XADDs that differ in their last word, run as a whole."""
        # A run of requests that are alike, if these bytes begin with one; then the rest.
        return self._take_run(*self.reader.take_run(data))

    def _read_before_login(self, data: bytes) -> None:
        """Run requests one by one: AUTH, with which the limits change, may stand before others.

        As in Redis, a client that has not logged in and lets its replies pile up is dropped.
        """
        client, reader = self.client, self.reader
        room_bytes = output_room_bytes(client)
        counted = len(client.output)
        for argv, left in reader.feed_each(data):
            goes_on = self.dispatcher.execute(client, argv)
            reader.authenticated = client.authenticated
            if room_bytes is not None:
                room_bytes -= sum(map(len, client.output[counted:]))
                counted = len(client.output)
                if room_bytes <= 0:
                    drop_for_output(client)
            if not goes_on or client.authenticated or client.closed:
                self.unread[:0] = data[len(data) - left :]
                return

    def _piece_bytes(self, data: bytes | bytearray) -> int:
        """How much of these bytes is read at a time."""
        return _LINES_BYTES if self.reader.expects_line(data) else _PIECE_BYTES

    def _take_run(self, run: RequestRun | TailRun | None, rest: bytes) -> bool:
        """As _read()."""
        if run is not None:
            if self.dispatcher.execute_run(self.client, run):
                if not rest:
                    return isinstance(run, RequestRun)
            else:
                self._run(run.requests())
            if self.backlog or self.is_halted:
                self.unread[:0] = rest
                return False
        if rest:
            self._run(self.reader.feed(rest))
        return False

    def _run(self, requests: list[Argv]) -> None:
        """Run requests until one halts the client, or its turn is over."""
        dispatcher, client = self.dispatcher, self.client
        execute = dispatcher.execute
        # The replies of one batch are written together: what they come to shows only here.
        room_bytes = output_room_bytes(client) if len(requests) > 1 else None
        counted = 0
        position, end = 0, len(requests)
        single_until = 0  # those before are no run, or none that can be taken as a whole
        while position < end:
            argv = requests[position]
            if argv[0] in XADD and position >= single_until and end - position >= MIN_REQUESTS:
                single_until = find_run_end(requests, position)
                if dispatcher.execute_run(client, requests[position:single_until]):
                    position = single_until
                    continue
            position += 1
            if not execute(client, argv) or client.closed:
                self._hold_back(requests[position:])
                return
            if room_bytes is not None:
                room_bytes -= sum(map(len, client.output[counted:]))
                counted = len(client.output)
                if room_bytes <= 0:
                    drop_for_output(client)
                    return

    def _hold_back(self, requests: list[Argv]) -> None:
        """Keep the rest of a batch: the client is halted, or others have their turn first."""
        if requests:
            self.backlog.extend(requests)
            if not self.is_halted:
                self.dispatcher.yielded[self.client] = None

    def _check_reader(self) -> None:
        """Refuse what the reader refuses, once the requests before it are answered."""
        client, reader = self.client, self.reader
        if client.closed:
            return
        client.query_buffer_bytes = reader.buffered_bytes + len(self.unread)
        # What a transaction queues has not run yet: it counts as if it were still to be read.
        held_bytes = client.query_buffer_bytes + client.queued_bytes
        if reader.overflowed or held_bytes > reader.limits.max_buffer_bytes:
            client.instance.stats.client_query_buffer_limit_disconnections += 1
            self._drop("query buffer limit")
        elif reader.error is not None and not self.backlog and not self.is_halted:
            if not client.gates & GATE_SILENT:
                client.output.append(replies.error(b"ERR " + reader.error.encode("latin-1")))
            client.close_after_reply = True

    def _drop(self, reason: str) -> None:
        """Close the connection at once, with no reply."""
        host = self.client.instance.host
        host.log("warning", f"{reason}: closing {self.client.address!r}")
        host.close(self.client)


def _piece_end(unread: bytearray, most: int) -> int:
    """Where a piece of what is unread ends: between two requests, by the look of it."""
    if len(unread) <= most:
        return len(unread)
    mark = unread.rfind(b"\r\n*", 0, most)
    return mark + 2 if mark >= 0 else most


def request_limits(config: Configuration) -> Limits:
    """What the configuration lets a connection send."""
    return Limits(
        max_bulk_bytes=config.proto_max_bulk_len,
        max_buffer_bytes=config.client_query_buffer_limit,
    )
