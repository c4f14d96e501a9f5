"""Cases of those who only watch: what `rillway top` takes of a server's core.

The screen is open on a terminal of its own, and nothing is written. What the server uses by itself,
measured just before, is taken off.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.comparison import Case, Contender, Figures, Scale, Session, Setting
from benchmarks.figures import Figure, Row
from benchmarks.machine import busy_share, pinned
from benchmarks.servers import ROOT, Server, pack

STREAMS = 10_000
BATCH = 500
ALONE_SECONDS = 5.0
WATCHED_SECONDS = 20.0
ROWS, COLUMNS = 40, 140


def _prepare(server: Server, _: Scale) -> None:
    """Streams with two groups each, in one of which an entry is pending."""
    for start in range(0, STREAMS, BATCH):
        requests = []
        for number in range(start, start + BATCH):
            name = f"stream:{number}"
            requests += [
                pack("XADD", name, "*", "item", "lamp"),
                pack("XGROUP", "CREATE", name, "mailers", "0"),
                pack("XGROUP", "CREATE", name, "billing", "0"),
                pack("XREADGROUP", "GROUP", "mailers", "anna", "STREAMS", name, ">"),
            ]
        server.pipeline(requests)
    server.settle()


@contextmanager
def _top(url: str) -> Iterator[None]:
    """`rillway top` on a terminal; its screens are thrown away."""
    screen, its_side = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "rillway", "top", "--url", url],
        stdin=its_side,
        stdout=its_side,
        cwd=ROOT,
        env=os.environ | {"TERM": "xterm-256color"},
    )
    os.close(its_side)
    threading.Thread(target=_drain, args=(screen,), daemon=True).start()
    try:
        yield
        assert process.poll() is None, "rillway top has ended"
    finally:
        process.terminate()
        process.wait()
        os.close(screen)


def _drain(screen: int) -> None:
    try:
        while os.read(screen, 65_536):
            pass
    except OSError:  # the other side is closed
        pass


@contextmanager
def _watch(contender: Contender, _: Scale) -> Iterator[Session]:
    server = contender.server

    def measure() -> Figures:
        alone = busy_share(server.pid, ALONE_SECONDS)
        with pinned({contender.cores.load}), _top(f"redis://127.0.0.1:{server.port}"):
            watched = busy_share(server.pid, WATCHED_SECONDS)
        return {TOP.name: Figure(max(watched - alone, 0.0) * 100, server_busy=watched)}

    yield Session(measure)


TOP = Row("watching/top-10k-streams", "% of a core", lower_is_better=True)
CASES: list[Case] = [
    Case(
        TOP.name,
        (TOP,),
        _watch,
        Setting("10k-streams", prepare=_prepare),
        has_warm_up=False,
        most_pairs=2,
    )
]
