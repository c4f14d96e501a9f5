"""The system's clock is set while clients wait, over real sockets (libfaketime)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.programs import processes
from tests.support.programs.ports import free_port
from tests.support.programs.servers import SERVED, RunningServer
from tests.support.resp import BrokenReply, RespClient
from tests.support.waiting import until

pytestmark = pytest.mark.integration

# Requests that wait, with their time in ms or s.
WAITS = {
    "ms": [
        *(f"XREAD BLOCK {{}} {options}STREAMS s $" for options in ("", "COUNT 1 ")),
        "XREAD BLOCK {} STREAMS s t $ $",
        *(
            f"XREADGROUP GROUP g {name} BLOCK {{}} {options}STREAMS s >"
            for name in ("a", "b")
            for options in ("", "COUNT 1 ", "NOACK ", "CLAIM 1000 ")
        ),
        *(f"WAIT {count} {{}}" for count in (1, 2)),
        *(f"WAITAOF {words} {{}}" for words in ("0 1", "0 2")),
    ],
    "s": [
        *(f"{name} l {{}}" for name in ("BLPOP", "BRPOP", "BLPOP k", "BRPOP k")),
        *(f"BLMOVE l m {side} LEFT {{}}" for side in ("LEFT", "RIGHT")),
        "BRPOPLPUSH l m {}",
        *(f"BLMPOP {{}} 1 l {side}" for side in ("LEFT", "RIGHT")),
        *(f"{name} z {{}}" for name in ("BZPOPMIN", "BZPOPMAX", "BZPOPMIN y")),
        *(f"BZMPOP {{}} 1 z {side}" for side in ("MIN", "MAX")),
    ],
}
HOUR = 3600


class Clock:
    """The clock that the server sees, but for the monotonic one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set(0)

    def set(self, offset_s: int) -> None:
        """Set it, relative to the real one."""
        beside = self._file.with_suffix(".new")
        beside.write_text(f"{offset_s:+d}")
        beside.replace(self._file)

    def environment(self) -> dict[str, str]:
        (library,) = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
        return {
            **os.environ,
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path / "clock")


@pytest.fixture
def server(tmp_path: Path, clock: Clock) -> Iterator[RunningServer]:
    port, log = free_port(), tmp_path / "rillway.log"
    argv = [sys.executable, "-m", "rillway", "serve", "--port", str(port), "--save", ""]
    process = processes.start(
        [*argv, "--dir", str(tmp_path)], folder=SERVED, output=log, environment=clock.environment()
    )
    running = RunningServer("rillway", port, process, log)
    until(lambda: "Ready to accept" in running.output(), running.output)
    yield running
    running.stop()


def time_s(client: RespClient) -> int:
    """The server's time of day."""
    return int(client.send("TIME").split(b"\r\n")[2])


def set_clock(clock: Clock, client: RespClient, offset_s: int) -> None:
    """Set the clock, and wait until the server has seen it and worked for a while."""
    before = time_s(client)
    clock.set(offset_s)
    until(lambda: abs(time_s(client) - before) > HOUR / 2)
    ticks = cycles(client)
    until(lambda: cycles(client) > ticks + 20)


def cycles(client: RespClient) -> int:
    stats = client.send("INFO", "stats").decode()
    return int(stats.partition("eventloop_cycles:")[2].split()[0])


def waiting(server: RunningServer, stack: ExitStack, seconds: int) -> dict[str, RespClient]:
    """A client for each request that waits."""
    clients = {}
    for unit, factor in (("ms", 1000), ("s", 1)):
        for request in WAITS[unit]:
            words = request.format(seconds * factor)
            client = clients[words] = stack.enter_context(server.connect(timeout_seconds=30))
            client.send("SET", "x", "v")
            client.write(*words.split())
    return clients


def test_all_waits_end_after_an_hour_back(server: RunningServer, clock: Clock) -> None:
    with ExitStack() as stack:
        control = stack.enter_context(server.connect(timeout_seconds=30))
        control.send("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
        clients = waiting(server, stack, 2)
        idle = stack.enter_context(server.connect(timeout_seconds=30))
        idle.send("PING")
        clock.set(-HOUR)
        assert all(client.read_reply() for client in clients.values())
        assert control.send("CONFIG", "SET", "timeout", "1") == b"+OK\r\n"
        with pytest.raises(BrokenReply):
            idle.read_reply()
        writer = stack.enter_context(server.connect(timeout_seconds=30))
        clock.set(0)
        control.send("CLIENT", "PAUSE", 1000)
        clock.set(-HOUR)
        assert writer.send("SET", "k", "v") == b"+OK\r\n"


def test_no_wait_ends_early_by_two_hours_forward(server: RunningServer, clock: Clock) -> None:
    with ExitStack() as stack:
        control = stack.enter_context(server.connect())
        control.send("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
        control.send("CONFIG", "SET", "timeout", "600")
        idle = stack.enter_context(server.connect())
        clients = waiting(server, stack, 600)
        until(lambda: b"blocked_clients:%d\r\n" % len(clients) in control.send("INFO", "clients"))
        set_clock(clock, control, 2 * HOUR)
        early = [words for words, client in clients.items() if client.arrived()]
        assert early == [] and idle.send("PING") == b"+PONG\r\n"
        writer = stack.enter_context(server.connect())
        clock.set(0)
        control.send("CLIENT", "PAUSE", 600_000, "WRITE")
        writer.write("SET", "k", "v")
        set_clock(clock, control, 2 * HOUR)
        assert writer.arrived() == []
        control.send("CLIENT", "UNPAUSE")
        assert writer.read_reply() == b"+OK\r\n"
