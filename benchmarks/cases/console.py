"""What the pages of `rillway console` cost the server that they show, while nothing is written."""

from __future__ import annotations

import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from benchmarks.comparison import Case, Contender, Figures, Scale, Session
from benchmarks.figures import Figure, Row
from benchmarks.load.entries import fill
from benchmarks.machine import busy_share
from benchmarks.servers import ROOT, Server, connect, pack

STREAMS, BATCH = 10_000, 1_000
VIEWERS = 20
# What they look at, in turn.
VIEWS = (
    "overview",
    "streams&sort=-lag",
    "streams&sort=name",
    "stream&key=s&tail=1",
    "group&key=s&group=g",
)
SETTLE_SECONDS, MEASURED_SECONDS = 10.0, 20.0
ROW = Row("console/20-viewers", "% of a core", lower_is_better=True)


class Readers(threading.Thread):
    """Reads whatever arrives, until it is stopped."""

    def __init__(self, connections: Sequence[socket.socket]) -> None:
        super().__init__(daemon=True)
        self.received_bytes = 0
        self._is_stopped = threading.Event()
        self._selector = selectors.DefaultSelector()
        for one in connections:
            self._selector.register(one, selectors.EVENT_READ)

    def run(self) -> None:
        while not self._is_stopped.is_set():
            for key, _ in self._selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                data = key.fileobj.recv(1 << 16)
                self.received_bytes += len(data)
                if not data:
                    self._selector.unregister(key.fileobj)

    def stop(self) -> None:
        self._is_stopped.set()
        self.join()


def _fill(server: Server, entries: int) -> None:
    """The stream `s` with a group that is behind, and 10,000 small ones with a group each."""
    fill(server, entries)
    server.call("XGROUP", "CREATE", "s", "g", "0")
    server.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 1_000, "STREAMS", "s", ">")
    for start in range(0, STREAMS, BATCH):
        names = [f"stream:{number}" for number in range(start, start + BATCH)]
        server.pipeline([pack("XADD", name, "*", "item", "lamp") for name in names])
        server.pipeline([pack("XGROUP", "CREATE", name, "g", "0") for name in names])


@contextmanager
def _console(server: Server) -> Iterator[int]:
    """The port of a console that shows the server."""
    url = f"redis://127.0.0.1:{server.port}"
    command = [sys.executable, "-m", "rillway", "console", "--url", url, "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
        finally:
            process.terminate()


def _view(port: int, view: str) -> socket.socket:
    connection = connect(port)
    request = f"GET /events?view={view} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    connection.sendall(request.encode())
    return connection


@contextmanager
def _viewers(contender: Contender, scale: Scale) -> Iterator[Session]:
    """What the server uses with open pages, less what it uses without."""
    with ExitStack() as stack:
        server = stack.enter_context(contender.start())
        _fill(server, scale.large)
        server.settle()
        idle = busy_share(server.pid, MEASURED_SECONDS / 2) * 100
        port = stack.enter_context(_console(server))
        views = [VIEWS[number % len(VIEWS)] for number in range(VIEWERS)]
        readers = Readers([stack.enter_context(_view(port, view)) for view in views])
        readers.start()
        stack.callback(readers.stop)
        time.sleep(SETTLE_SECONDS)

        def measure() -> Figures:
            before = readers.received_bytes
            used = busy_share(server.pid, MEASURED_SECONDS) * 100 - idle
            rate = (readers.received_bytes - before) / MEASURED_SECONDS
            assert rate > 0, "no page was updated"
            line = f"idle {idle:.2f} %; the pages got {rate / 1000:,.0f} KB/s"
            return {ROW.name: Figure(used, lines=(line,))}

        yield Session(measure)


CASES: list[Case] = [Case(ROW.name, (ROW,), _viewers, has_warm_up=False, most_pairs=1)]
