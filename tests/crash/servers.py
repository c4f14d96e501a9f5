"""Servers that are killed and started again on the same folder: Rillway, or a real redis-server."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hiredis

from protocol import replies
from tests.support.programs import processes, servers
from tests.support.programs.ports import free_port
from tests.support.programs.servers import RunningServer

READY_SECONDS = 60.0
POLL_SECONDS = 0.005
REPLY_SECONDS = 30.0
PORT_LINE = re.compile(r"\bport (\d+) on\b")
# Lines of level "warning" (#) that say nothing of the data.
HARMLESS = re.compile(
    r"no config file specified|overcommit|Transparent Huge Pages|maximum open files|oO0OoO0OoO0Oo"
    r"|TCP backlog setting|Server initialized|Redis version=|Redis is starting|Configuration loaded"
    r"|User requested shutdown|Received SIGTERM|is now ready to exit|failed to set soft limit"
)
TORN_TAIL = re.compile(
    r"[Tt]runcat|[Uu]nexpected end|AOF loaded anyway|torn|cut|short read|Revert incomplete MULTI",
    re.IGNORECASE,
)

Begin = Callable[[Path, Path, tuple[str, ...]], "Server"]


class DidNotStart(Exception):
    """The text is what the server printed."""


class Server(RunningServer):
    """A process that answers, or did. `log` holds what it printed since this start."""

    def warnings(self) -> list[str]:
        """What it printed as a warning while it loaded, without what every start prints."""
        lines = self.log.read_text(errors="replace").splitlines()
        said = [line for line in lines if " # " in line or "Traceback" in line]
        return [line for line in said if not HARMLESS.search(line)]

    def unexpected_warnings(self) -> list[str]:
        return [line for line in self.warnings() if not TORN_TAIL.search(line)]


class Link:
    """A connection that decodes replies."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=REPLY_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()

    def ask(self, *words: bytes | str | int) -> Any:
        """Send one request and wait for its reply; an error reply is returned, not raised."""
        argv = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(replies.command(argv))
        while (reply := self._reader.gets()) is False:
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._reader.feed(data)
        return reply

    def arrived(self) -> tuple[list[Any], bool]:
        """Replies in what can be read now (wait with select), and whether the peer is still there.

        At the end, everything that the kernel has is read.
        """
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionError:
            return [], False
        self._reader.feed(data)
        found = []
        while (reply := self._reader.gets()) is not False:
            found.append(reply)
        return found, bool(data)

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def begin_rillway(data: Path, log: Path, directives: tuple[str, ...]) -> Server:
    """A Rillway on the folder `data`, which does not answer yet; its port is not known, either."""
    words = ("--port", "0", "--dir", str(data), *directives)
    return Server("rillway", 0, servers.begin_rillway(log, *words), log)


def begin_redis_with(program: str) -> Begin:
    """A way to begin a real redis-server, for what it and Rillway have in common."""

    def begin(data: Path, log: Path, directives: tuple[str, ...]) -> Server:
        port = free_port()
        argv = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(data)]
        process = processes.start([*argv, *directives], folder=data, output=log)
        return Server(program, port, process, log)

    return begin


def start_rillway(data: Path, log: Path, directives: tuple[str, ...]) -> Server:
    """Rillway on the folder `data`, once it has loaded. Raises DidNotStart."""
    return wait_until_loaded(begin_rillway(data, log, directives))


def start_redis(data: Path, log: Path, directives: tuple[str, ...]) -> Server:
    """The redis-server on the path, in the same way. Raises DidNotStart."""
    return wait_until_loaded(begin_redis_with("redis-server")(data, log, directives))


def wait_until_loaded(server: Server) -> Server:
    """Waits for the port and for PONG; -LOADING is no answer. Raises DidNotStart."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and server.process.poll() is None:
        if not server.port and (said := PORT_LINE.search(server.log.read_text(errors="replace"))):
            server.port = int(said.group(1))
        if server.port:
            try:
                with Link(server.port) as link:
                    if link.ask("PING") == b"PONG":
                        return server
            except OSError:
                pass
        time.sleep(POLL_SECONDS)
    server.stop()
    raise DidNotStart(server.log.read_text(errors="replace"))
