"""One server and what can be seen of it: replies, keyspace events, propagated requests."""

from __future__ import annotations

import shlex

import hiredis

from server.inprocess import InProcessClient, InProcessServer

NOW_MS = 1_700_000_000_000
SYNTAX_ERROR = b"-ERR syntax error\r\n"
NOT_AN_INTEGER = b"-ERR value is not an integer or out of range\r\n"
WRONG_TYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
NIL = b"$-1\r\n"
OK = b"+OK\r\n"


class Conversation:
    """A client of an in-process server, with a subscriber to its keyspace events beside it."""

    def __init__(self, **directives: str) -> None:
        self.server = InProcessServer(
            now_ms=NOW_MS, **{"notify-keyspace-events": "AEnm"}, **directives
        )
        self.client = self.server.connect()
        self._subscriber = self.server.connect()
        self._subscriber.execute("PSUBSCRIBE", "__keyevent@*")

    def do(self, request: str) -> bytes:
        """Send a request, written as in a shell; the reply as it came."""
        return self.client.execute(*shlex.split(request))

    def all(self, *requests: str) -> None:
        """Several requests that must not fail; their events and propagation are forgotten."""
        for request in requests:
            reply = self.do(request)
            assert not reply.startswith(b"-"), reply
        self.events()
        self.propagated()

    def other(self) -> InProcessClient:
        """Another client."""
        return self.server.connect()

    def events(self) -> list[str]:
        """The events since the last look, each as `event key`."""
        reader = hiredis.Reader(encoding="utf-8")
        reader.feed(self._subscriber.received())
        seen: list[str] = []
        while (message := reader.gets()) is not False:
            assert isinstance(message, list)
            seen.append(f"{message[2].partition(':')[2]} {message[3]}")
        return seen

    def propagated(self) -> list[str]:
        """The requests propagated since the last look, each as one line."""
        requests = [argv for _, unit in self.server.propagated for argv in unit]
        self.server.propagated.clear()
        return [shlex.join(word.decode() for word in argv) for argv in requests]
