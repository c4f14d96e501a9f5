"""One server and what can be seen of it: replies, keyspace events, propagated requests."""

from __future__ import annotations

import shlex

import hiredis

from server.inprocess.server import InProcessServer

NOW_MS = 1_700_000_000_000
SYNTAX_ERROR = b"-ERR syntax error\r\n"
NOT_AN_INTEGER = b"-ERR value is not an integer or out of range\r\n"
WRONG_TYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
NIL = b"$-1\r\n"
OK = b"+OK\r\n"


class Speaker:
    """A client whose requests are written as in a shell."""

    def __init__(self, server: InProcessServer) -> None:
        self.client = server.connect()

    def do(self, request: str) -> bytes:
        """The raw reply; b"" while the client is blocked."""
        return self.client.execute(*shlex.split(request))

    def received(self) -> bytes:
        """What came without a request of one's own."""
        return self.client.received()


class Conversation(Speaker):
    """A client of a server of its own, with a subscriber to its keyspace events beside it."""

    def __init__(self, **directives: str) -> None:
        directives["notify-keyspace-events"] = "AEnm"
        self.server = InProcessServer(now_ms=NOW_MS, seed=0, **directives)
        super().__init__(self.server)
        self._subscriber = Speaker(self.server)
        self._subscriber.do("PSUBSCRIBE __keyevent@*")

    def all(self, *requests: str) -> None:
        """Several requests that must not fail; their events and propagation are forgotten."""
        for request in requests:
            reply = self.do(request)
            assert not reply.startswith(b"-"), reply
        self.events()
        self.propagated()

    def other(self) -> Speaker:
        """Another client."""
        return Speaker(self.server)

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
        return [
            shlex.join(word.decode(errors="backslashreplace") for word in argv) for argv in requests
        ]
