"""The golden runner reads scripts strictly and notices every reply that differs."""

from __future__ import annotations

import pytest

from tests.golden import script

REPLIES = {
    b"PING": b"+PONG\r\n",
    b"TIME": b"",  # replaced by the clock
    b"WAIT": b"",
}


class Echoing:
    """A connection that knows three commands; PUSH puts a reply into every waiting one."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.waiting = b""

    def execute(self, *argv: bytes) -> bytes:
        if argv[0] == b"TIME":
            return b":%d\r\n" % self.server.now_ms
        if argv[0] == b"PUSH":
            for connection in self.server.connections:
                connection.waiting += b"$%d\r\n%b\r\n" % (len(argv[1]), argv[1])
            self.waiting = b""
            return b"+OK\r\n"
        return REPLIES[argv[0]]

    def received(self) -> bytes:
        waiting, self.waiting = self.waiting, b""
        return waiting


class FakeServer:
    def __init__(self) -> None:
        self.now_ms = 0
        self.connections: list[Echoing] = []

    def advance(self, ms: int) -> None:
        self.now_ms += ms

    def connect(self) -> Echoing:
        self.connections.append(Echoing(self))
        return self.connections[-1]


def play(text: str) -> None:
    script.run(script.parse(text), FakeServer())


def test_a_script_that_says_what_happens_passes() -> None:
    play(
        """
# A comment.
@clock 1518951480106
> TIME
(integer) 1518951480106
@elapse 94
> TIME
(integer) 1518951480200
@connection reader
> WAIT
@blocks
@connection main
> PUSH "a b"
OK
@receives reader
"a b"
"""
    )


@pytest.mark.parametrize(
    "text",
    [
        "> PING\nPING",
        "> PING\nPONG\nPONG",
        "> PING\n@blocks",
        "> WAIT\nPONG",
        "@clock 5\n> TIME\n(integer) 6",
        '> PUSH x\nOK\n@receives main\n"x"',
        '@connection a\n> WAIT\n@blocks\n@connection main\n> PUSH x\nOK\n@receives a\n"y"',
        "@connection a\n> WAIT\n@blocks\n@connection main\n> PUSH x\nOK",
    ],
)
def test_a_reply_that_differs_fails(text: str) -> None:
    with pytest.raises(AssertionError):
        play(text)


@pytest.mark.parametrize("text", ["PING\nPONG", "> PING", "@wait 5"])
def test_a_line_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(script.BadScript):
        play(text)
