"""One connection without its socket: bytes in, requests to the dispatcher, in order.

A session holds what the client sent but cannot run yet: requests behind one that blocks or is
held back by CLIENT PAUSE. The connection (server/connection.py) and the in-process server of the
tests (server/inprocess.py) are thin shells around it.
"""

from __future__ import annotations

from collections import deque

from commands.client import Client
from commands.configuration import Configuration
from commands.directive_kinds import OutputLimit
from commands.pubsub.registry import is_subscribed
from commands.registry import Argv
from commands.streams.add_run import XADD, find_run_end
from protocol import replies
from protocol.request_runs import MIN_REQUESTS
from protocol.requests import Limits, RequestReader
from server.dispatch import Dispatcher

# How much of what a client sent while it was halted is read at a time.
_BATCH_BYTES = 256 * 1024


class Session:
    """Feeds one client's requests to the dispatcher."""

    def __init__(self, client: Client, dispatcher: Dispatcher) -> None:
        self.client = client
        self.dispatcher = dispatcher
        self.reader = RequestReader(
            request_limits(client.instance.config), authenticated=client.authenticated
        )
        # Behind a request that halts the client: the rest of its batch, then what came since.
        # That is not read before its time: requests take many times the bytes they came as.
        self.backlog: deque[Argv] = deque()
        self.unread = bytearray()

    def receive(self, data: bytes) -> None:
        """Bytes from the client; the batch was started with the dispatcher before."""
        if self.unread or self.backlog or self.is_halted:
            self.unread += data
        else:
            self._read(data)
        self._check_reader()

    def resume(self) -> None:
        """The client was unblocked, or the pause ended: go on with what it sent meanwhile."""
        held_back = self.dispatcher.postponed.pop(self.client, None)
        if held_back is not None:
            self.backlog.appendleft(held_back)
        if not self.is_halted:
            requests, self.backlog = list(self.backlog), deque()
            self._run(requests)
        while self.unread and not self.backlog and not self.is_halted:
            data = bytes(self.unread[:_BATCH_BYTES])
            del self.unread[:_BATCH_BYTES]
            self._read(data)
        self._check_reader()

    @property
    def is_halted(self) -> bool:
        """Whether requests must wait."""
        client = self.client
        return (
            client.waiting is not None
            or client.close_after_reply
            or client.closed
            or client in self.dispatcher.postponed
        )

    def _read(self, data: bytes) -> None:
        if self.client.authenticated:
            self._read_runs(data)
            return
        # The limits change with AUTH, which may stand in front of more in the same bytes.
        for line in data.splitlines(keepends=True):
            if self.backlog or self.is_halted:
                self.unread += line
            else:
                self.reader.authenticated = self.client.authenticated
                self._run(self.reader.feed(line))
        self.reader.authenticated = self.client.authenticated

    def _read_runs(self, data: bytes) -> None:
        """A run of requests that are alike, if these bytes begin with one; then the rest."""
        run, rest = self.reader.take_run(data)
        if run is not None:
            if not self.dispatcher.execute_run(self.client, run):
                self._run(run.requests())
            if self.backlog or self.is_halted:
                self.unread += rest
                return
        if rest:
            self._run(self.reader.feed(rest))

    def _run(self, requests: list[Argv]) -> None:
        """Run requests until one halts the client."""
        execute, client = self.dispatcher.execute, self.client
        # The replies of one batch are written together: what they come to shows only here.
        room_bytes = self._output_room_bytes() if len(requests) > 1 else None
        counted = 0
        position, end = 0, len(requests)
        single_until = 0  # those before are no run, or none that can be taken as a whole
        while position < end:
            argv = requests[position]
            taken = 0
            if argv[0] in XADD and position >= single_until and end - position >= MIN_REQUESTS:
                run_end = find_run_end(requests, position)
                if self.dispatcher.execute_run(client, requests[position:run_end]):
                    taken = run_end - position
                single_until = run_end
            position += taken or 1
            if not taken and (not execute(client, argv) or client.closed):
                self.backlog.extend(requests[position:])
                return
            if room_bytes is not None:
                room_bytes -= sum(map(len, client.output[counted:]))
                counted = len(client.output)
                if room_bytes <= 0:
                    client.instance.stats.client_output_buffer_limit_disconnections += 1
                    self._drop("output buffer limit")
                    return

    def _output_room_bytes(self) -> int | None:
        """How many bytes of output the client may have waiting; None for any number."""
        hard_bytes = output_limit(self.client).hard_bytes
        if not hard_bytes:
            return None
        return hard_bytes - self.client.instance.host.unsent_bytes(self.client)

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
            client.output.append(replies.error(b"ERR " + reader.error.encode("latin-1")))
            client.close_after_reply = True

    def _drop(self, reason: str) -> None:
        """Close the connection at once, with no reply."""
        host = self.client.instance.host
        host.log("warning", f"{reason}: closing {self.client.address!r}")
        host.close(self.client)


def output_limit(client: Client) -> OutputLimit:
    """The client-output-buffer-limit of the client's class."""
    limits = client.instance.config.client_output_buffer_limit
    return limits["pubsub" if is_subscribed(client) else "normal"]


def request_limits(config: Configuration) -> Limits:
    """What the configuration lets a connection send."""
    return Limits(
        max_bulk_bytes=config.proto_max_bulk_len,
        max_buffer_bytes=config.client_query_buffer_limit,
    )
