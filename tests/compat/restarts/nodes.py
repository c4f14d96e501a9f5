"""Servers that a story starts, ends and starts again: Rillway's and redis-server's alike.

A node keeps its folder and its port. Whatever is waited for is a condition that is polled.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.programs import processes
from tests.support.programs.ports import free_port
from tests.support.programs.processes import Process
from tests.support.programs.servers import begin_rillway

WAIT_SECONDS = 60.0
POLL_SECONDS = 0.05
OURS, THEIRS = "rillway", "redis-server"


class Stuck(Exception):
    """A condition did not come true."""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Poll until the condition is true; a server that is not there yet counts as false."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (OSError, redis.RedisError):
            pass
        time.sleep(POLL_SECONDS)
    raise Stuck(what)


class Node:
    """One server; `directives` are those of its command line, for every start."""

    def __init__(self, program: str, folder: Path, *directives: str) -> None:
        self.program = program
        self.folder = folder
        self.directives = directives
        self.port = free_port()
        self.exit_status = 0
        self._log = folder / "log"
        self._seen_bytes = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._process: Process | None = None

    # -- life ----------------------------------------------------------------------------------

    def begin(self, *more: str) -> None:
        """Start the process."""
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        words += [*self.directives, *more]
        if self.program == OURS:
            self._process = begin_rillway(self._log, *words)
        else:
            argv = ["redis-server", *words]
            self._process = processes.start(argv, folder=self.folder, output=self._log)

    def start(self, *more: str) -> None:
        """Start it, and wait until it has loaded its data. Raises Stuck if it does not."""
        self.begin(*more)
        wait_until(self._has_loaded, f"{self.program} does not start:\n{self.log()}")

    def _has_loaded(self) -> bool:
        with self.client() as client:
            return not client.info("persistence")["loading"]

    def starts(self) -> bool:
        """Start it; False if it exits instead, with `exit_status`."""
        self.begin()
        process = self._process
        assert process is not None
        wait_until(lambda: process.poll() is not None or self._has_loaded(), "neither")
        if process.poll() is None:
            return True
        self.exit_status = process.wait()
        return False

    def wait_for_end(self) -> None:
        """Wait until the process has ended by itself."""
        wait_until(self.has_ended, f"{self.program} does not end")
        assert self._process is not None
        self.exit_status = self._process.wait()

    def has_ended(self) -> bool:
        """Whether the process has ended by itself."""
        assert self._process is not None
        return self._process.poll() is not None

    def end(self, command: str) -> None:
        """Send a command that ends it, and wait until it has ended."""
        with contextlib.suppress(redis.ConnectionError):
            self.ask(*command.split())
        self.wait_for_end()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """Kill it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    # -- what it says --------------------------------------------------------------------------

    def client(self, db: int = 0) -> Any:
        """A redis-py client that gets bytes."""
        never = Retry(NoBackoff(), 0)  # whoever waits polls
        return redis.Redis(
            port=self.port, db=db, protocol=2, socket_timeout=WAIT_SECONDS, retry=never
        )

    def ask(self, *words: str | int, db: int = 0) -> Any:
        """The decoded reply to one command; an error as its text."""
        with self.client(db) as client:
            client.response_callbacks.clear()
            try:
                return client.execute_command(*words)
            except redis.ResponseError as error:
                return str(error)

    def info(self, section: str) -> dict[str, Any]:
        """A section of INFO."""
        with self.client() as client:
            return dict(client.info(section))

    def log(self) -> str:
        """All that it has printed."""
        return self._log.read_text(errors="replace")

    def fresh_log(self) -> str:
        """What it has printed since the last call."""
        with self._log.open("rb") as file:
            file.seek(self._seen_bytes)
            data = file.read()
        self._seen_bytes += len(data)
        return data.decode(errors="replace")
