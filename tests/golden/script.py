"""Golden scripts: what a person types into redis-cli and what redis-cli prints, under a set clock.

A script is read line by line:

    # a comment; blank lines mean nothing
    @clock 1518951480106          the server's clock from here on, in Unix ms
    @elapse 60000                 this many ms pass, and the server does what has fallen due
    @connection alice             whose commands follow; opened when first named ("main" at first)
    > XADD mystream * a 1         a command, as typed into redis-cli
    "1518951480106-0"             what redis-cli prints for it, to the letter
    > XREAD BLOCK 0 STREAMS s $
    @blocks                       in place of a reply: the command waits
    @receives alice               a reply that reaches a waiting connection; its text follows

`parse` turns the text into steps; `run` plays them on a server and stops at the first difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tests.support.programs.redis_cli import render, split_line

MAIN = "main"


class BadScript(Exception):
    """A script that cannot be read; the text names the line."""


class Connection(Protocol):
    """One client of the server under test."""

    def execute(self, *argv: bytes) -> bytes:
        """The command's raw reply, or b"" when the command waits."""

    def received(self) -> bytes:
        """What has arrived since, and b"" when nothing has."""


class Server(Protocol):
    """The server under test, with a clock that only the script moves."""

    now_ms: int

    def connect(self) -> Connection: ...

    def advance(self, ms: int) -> None:
        """Time passes, and what falls due is done."""


@dataclass(frozen=True)
class SetClock:
    now_ms: int


@dataclass(frozen=True)
class Elapse:
    ms: int


@dataclass(frozen=True)
class Use:
    """Later commands are this connection's."""

    connection: str


@dataclass(frozen=True)
class Type:
    """A typed command; `expected` is None when it waits."""

    line_number: int
    line: str
    expected: str | None


@dataclass(frozen=True)
class Receive:
    """A connection that waited gets its reply."""

    line_number: int
    connection: str
    expected: str


Step: TypeAlias = SetClock | Elapse | Use | Type | Receive


def parse(text: str) -> list[Step]:
    """The steps of a script. Raises BadScript."""
    return list(_steps(_meaningful(text)))


def _meaningful(text: str) -> list[tuple[int, str]]:
    """The numbered lines that are neither blank nor comments."""
    numbered = enumerate(text.splitlines(), start=1)
    return [(number, line) for number, line in numbered if line.strip() and line[0] != "#"]


def _steps(lines: list[tuple[int, str]]) -> Iterator[Step]:
    position = 0
    while position < len(lines):
        number, line = lines[position]
        position += 1
        word, _, rest = line.partition(" ")
        if word == "@clock":
            yield SetClock(int(rest))
        elif word == "@elapse":
            yield Elapse(int(rest))
        elif word == "@connection":
            yield Use(rest)
        elif word == "@receives":
            expected, position = _printed(lines, position)
            yield Receive(number, rest, expected)
        elif word == ">":
            expected, position = _printed(lines, position)
            if not expected:
                raise BadScript(f"line {number}: a command without a reply or @blocks")
            yield Type(number, rest, None if expected == "@blocks" else expected)
        else:
            raise BadScript(f"line {number}: neither a directive nor a command: {line}")


def _printed(lines: list[tuple[int, str]], position: int) -> tuple[str, int]:
    """The printed lines from `position` on, and where they end."""
    printed = []
    while position < len(lines):
        line = lines[position][1]
        if line.startswith(("> ", "@clock", "@elapse", "@connection", "@receives")):
            break
        printed.append(line)
        position += 1
    return "\n".join(printed), position


def run(steps: Iterable[Step], server: Server) -> None:
    """Plays the steps. Raises AssertionError at the first reply that differs."""
    connections = {MAIN: server.connect()}
    current = MAIN
    for step in steps:
        if isinstance(step, SetClock):
            server.now_ms = step.now_ms
        elif isinstance(step, Elapse):
            server.advance(step.ms)
        elif isinstance(step, Use):
            current = step.connection
            if current not in connections:
                connections[current] = server.connect()
        elif isinstance(step, Type):
            reply = connections[current].execute(*split_line(step.line))
            _check(step.line_number, step.line, step.expected, reply)
        else:
            reply = connections[step.connection].received()
            _check(step.line_number, f"@receives {step.connection}", step.expected, reply)
    for name, connection in connections.items():
        left = connection.received()
        assert not left, f"at the end, {name} was sent more than the script says: {left!r}"


def _check(line_number: int, line: str, expected: str | None, reply: bytes) -> None:
    printed = render(reply) if reply else None
    assert printed == expected, (
        f"line {line_number}: {line}\nexpected:\n{_shown(expected)}\nprinted:\n{_shown(printed)}"
    )


def _shown(printed: str | None) -> str:
    return "(waits)" if printed is None else printed
