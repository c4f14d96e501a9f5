"""A server process for tests, on a free loopback port.

It answers before `start` returns, has ended when `stop` returns, and ends with the process that
started it, however that ends. It is a fork of a process that has imported the server (launcher.py),
so that only the first of a test run takes its time to start. It ignores the environment's RILLWAY_*
variables, because a test must not depend on its environment.

Does not use redis-py: the few requests here are encoded by hand, so that a test suite with another
client does not load a second one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from rillway.net.polling import poll
from rillway.testing import warm
from rillway.testing.directives import Value, file_text, normalized

START_SECONDS = 15.0
STOP_SECONDS = 10.0
ANSWER_SECONDS = 5.0
POLL_SECONDS = 0.002

PORT_LINE = re.compile(r"\bport (\d+) on ([^\s,]+)")
# Clients cannot connect to a wildcard address.
WILDCARDS = {"*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


class ServerFailed(Exception):
    """The server did not start, or did not answer correctly; the text contains its output."""


class RillwayServer:
    """One server. `host` and `port` are its address once it is started.

    A test may stop, start and restart it; the port stays the same, and the log continues.
    """

    def __init__(
        self, directives: Mapping[str, Value] | None = None, *, folder: Path | None = None
    ) -> None:
        """`folder`: its working directory, with its log; None for a temporary one, which is removed
        with this object, so that the log can still be read after `stop`.

        Raises ValueError for a directive that is reserved for the harness.
        """
        self.directives = normalized(directives or {})
        self.host = "127.0.0.1"
        self.port = 0
        self._is_temporary = folder is None
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="rillway-"))
            weakref.finalize(self, _remove, folder, os.getpid())
        self.folder = folder
        self._log_file = folder / "server.log"
        self._process: warm.WarmProcess | None = None

    @property
    def url(self) -> str:
        """`redis://127.0.0.1:PORT/0`, with the password of `requirepass` if it is set."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        credentials = f":{quote(self.password, safe='')}@" if self.password else ""
        return f"redis://{credentials}{host}:{self.port}/0"

    @property
    def password(self) -> str:
        return str(self.directives.get("requirepass", ""))

    @property
    def log(self) -> str:
        """The server's output, across restarts. Empty before it is started."""
        try:
            return self._log_file.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def state(self) -> str:
        """The state for reports: `running`, `exit status 1`, `not started`."""
        if self._process is None:
            return "not started"
        status = self._process.poll()
        return "running" if status is None else f"exit status {status}"

    def start(self) -> None:
        """Starts the server and waits until it answers, unless it runs. Raises ServerFailed."""
        if self.running:
            return
        arguments = self._arguments()
        printed_before = len(self.log)
        try:
            self._process = warm.start(
                arguments, folder=self.folder, log=self._log_file, temporary=self._is_temporary
            )
        except warm.LauncherFailed as failure:
            raise ServerFailed(f"Rillway cannot be imported:\n{failure}") from None
        try:
            self._wait_until_it_listens(printed_before)
            self._ask("PING")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the server; does nothing if it is not running.

        Also does nothing in a fork of the process that started it: there it is not a child.
        """
        process = self._process
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def restart(self) -> None:
        """Stops and starts the server: same port, same folder. Raises ServerFailed.

        Connections break; data survives only if the directives enable persistence.
        """
        self.stop()
        self.start()

    def flush(self) -> None:
        """Empties all databases. Raises ServerFailed if that fails."""
        self._ask("FLUSHALL")

    def __enter__(self) -> RillwayServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> RillwayServer:
        import asyncio

        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.to_thread(self.stop)

    def _arguments(self) -> list[str]:
        """The arguments of `rillway serve`; writes its configuration file if that is missing."""
        configuration = self.folder / "rillway.conf"
        if not configuration.exists():  # a restart keeps the changes of CONFIG REWRITE
            # No snapshots, unless the test wants them: its folder is temporary.
            directives = {"save": "", **self.directives}
            configuration.write_text(file_text(directives), errors="surrogateescape")
        argv = [str(configuration), "--dir", str(self.folder)]
        # 0 at the first start, unless the directives name a port; then always the same port.
        if self.port or "port" not in self.directives:
            argv += ["--port", str(self.port)]
        return argv

    def _wait_until_it_listens(self, printed_before: int) -> None:
        """Reads `host` and `port` from the log. Raises ServerFailed."""
        poll(
            lambda: not self.running or PORT_LINE.search(self.log, printed_before),
            START_SECONDS,
            pause_s=POLL_SECONDS,
        )
        found = PORT_LINE.search(self.log, printed_before)
        if found is None:
            raise self._failure("did not start")
        self.port = int(found[1])
        self.host = WILDCARDS.get(found[2], found[2])

    def _ask(self, *words: str) -> None:
        """Sends one request. Raises ServerFailed if the reply is missing or an error."""
        requests = [("AUTH", self.password), words] if self.password else [words]
        try:
            with (
                socket.create_connection((self.host, self.port), ANSWER_SECONDS) as connection,
                connection.makefile("rb") as replies,
            ):
                for request in requests:
                    connection.sendall(_encoded(request))
                    reply = replies.readline()
                    if not reply or reply.startswith(b"-"):
                        raise self._failure(f"answered {reply.decode(errors='replace')!r}")
        except OSError as error:
            raise self._failure(f"does not answer: {error}") from error

    def _failure(self, what: str) -> ServerFailed:
        return ServerFailed(f"the Rillway server {what} ({self.state}). It printed:\n{self.log}")


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork of the test process that exits
        shutil.rmtree(folder, ignore_errors=True)


def _encoded(words: tuple[str, ...]) -> bytes:
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode(errors="surrogateescape")
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)
