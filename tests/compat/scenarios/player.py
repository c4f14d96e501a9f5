"""Runs scenarios of several clients on one server, and records what each is sent after each step.

A scenario is a text of lines:

    a: XREAD BLOCK 0 STREAMS s $       client a sends a command; clients connect when first named
    c: CLIENT UNBLOCK {a}              {a} is the ID of client a's connection
    await a                            until client a is sent something
    close a                            client a hangs up

Commands are sent one at a time: the next step begins when the server has done everything that the
last one caused. To find out, an observer sends two requests: the first reply shows that the server
has seen the command, the second that its effects have been sent. What a command before `await`
caused counts as part of that step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.programs.redis_cli import split_line
from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient


@dataclass(frozen=True)
class Sent:
    """A reply to `client`, and the command that it answers."""

    client: str
    argv: list[bytes]
    reply: bytes


@dataclass(frozen=True)
class Step:
    """A line of the scenario, and all that reached the clients because of it, by client."""

    line: str
    sent: list[Sent]


@dataclass
class Actor:
    """A client of the scenario, and its commands that have no reply yet."""

    connection: RespClient
    client_id: int
    unanswered: list[list[bytes]] = field(default_factory=list)


class Stage:
    """One run of a scenario on one server."""

    def __init__(self, server: RunningServer, protocol: int) -> None:
        self._server = server
        self._protocol = protocol
        self._actors: dict[str, Actor] = {}
        self._observer = server.connect()
        self._observer.send("FLUSHALL")

    def play(self, scenario: str) -> list[Step]:
        """Plays all lines, then closes all connections."""
        stripped = [line.strip() for line in scenario.splitlines()]
        lines = [line for line in stripped if line and not line.startswith("#")]
        try:
            return [
                self._step(line, is_awaited=following.startswith("await "))
                for line, following in zip(lines, [*lines[1:], ""], strict=True)
            ]
        finally:
            for actor in self._actors.values():
                actor.connection.close()
            self._observer.close()

    def _step(self, line: str, *, is_awaited: bool) -> Step:
        name, colon, command = line.partition(": ")
        if colon:
            self._send(name, command)
            if is_awaited:  # a short wait may end before the observer is answered
                return Step(line, [])
        else:
            verb, name = line.split()
            if verb == "close":
                self._actors.pop(name).connection.close()
            else:
                assert verb == "await", line
                return Step(line, [self._next_sent(name), *self._arrived()])
        return Step(line, self._arrived())

    def _send(self, name: str, command: str) -> None:
        actor = self._actor(name)
        ids = {other: one.client_id for other, one in self._actors.items()}
        argv = split_line(command.format(**ids))
        actor.unanswered.append(argv)
        actor.connection.write(*argv)

    def _actor(self, name: str) -> Actor:
        if name not in self._actors:
            connection = self._server.connect(protocol=self._protocol)
            client_id = int(connection.send("CLIENT", "ID")[1:])
            self._actors[name] = Actor(connection, client_id)
        return self._actors[name]

    def _arrived(self) -> list[Sent]:
        for _ in range(2):
            assert self._observer.send("PING") == b"+PONG\r\n"
        return [
            Sent(name, actor.unanswered.pop(0), reply)
            for name, actor in sorted(self._actors.items())
            for reply in actor.connection.arrived()
        ]

    def _next_sent(self, name: str) -> Sent:
        actor = self._actors[name]
        reply = actor.connection.read_reply()
        return Sent(name, actor.unanswered.pop(0), reply)
