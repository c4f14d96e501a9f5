"""One connection without its socket: bytes in, requests to the dispatcher, in order.

A session holds what the client sent but cannot run yet: requests behind one that blocks or is
held back by CLIENT PAUSE. The connection (server/connection.py) and the in-process server of the
tests (server/inprocess.py) are thin shells around it.
"""

from __future__ import annotations

from collections import deque

from commands.client import Client
from commands.configuration import Configuration
from commands.registry import Argv
from protocol import replies
from protocol.requests import Limits, RequestReader
from server.dispatch import Dispatcher


class Session:
    """Feeds one client's requests to the dispatcher."""

    def __init__(self, client: Client, dispatcher: Dispatcher) -> None:
        self.client = client
        self.dispatcher = dispatcher
        self.reader = RequestReader(
            request_limits(client.instance.config), authenticated=client.authenticated
        )
        self.backlog: deque[Argv] = deque()

    def receive(self, data: bytes) -> None:
        """Bytes from the client; the batch was started with the dispatcher before."""
        if self.client.authenticated:
            self._run(self.reader.feed(data))
        else:
            # The limits change with AUTH, which may stand in front of more in the same bytes.
            for line in data.splitlines(keepends=True):
                self.reader.authenticated = self.client.authenticated
                self._run(self.reader.feed(line))
            self.reader.authenticated = self.client.authenticated
        client = self.client
        client.query_buffer_bytes = self.reader.buffered_bytes
        if self.reader.error is not None and not client.close_after_reply:
            client.output.append(replies.error(b"ERR " + self.reader.error.encode("latin-1")))
            client.close_after_reply = True

    def resume(self) -> None:
        """The client was unblocked, or the pause ended: go on with what it sent meanwhile."""
        held_back = self.dispatcher.postponed.pop(self.client, None)
        if held_back is not None:
            self.backlog.appendleft(held_back)
        requests, self.backlog = list(self.backlog), deque()
        self._run(requests)

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

    def _run(self, requests: list[Argv]) -> None:
        if self.backlog or self.is_halted:
            self.backlog.extend(requests)
            return
        execute, client = self.dispatcher.execute, self.client
        for position, argv in enumerate(requests):
            if not execute(client, argv) or client.closed:
                self.backlog.extend(requests[position + 1 :])
                return


def request_limits(config: Configuration) -> Limits:
    """What the configuration lets a connection send."""
    return Limits(
        max_bulk_bytes=config.proto_max_bulk_len,
        max_buffer_bytes=config.client_query_buffer_limit,
    )
