"""Shared parts of the demos: their server, the screen of `rillway top`, their keys and streams."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import redis

import rillway
from rillway.net.polling import poll

START_SECONDS = 10.0
STOP_SECONDS = 10.0
SCREEN_SECONDS = 5.0
PAGE = 1000
PORT_LINE = re.compile(r"\bport (\d+) on\b")
# The folder of this package, so that the child imports the same one from any working directory.
IMPORT_ROOT = str(Path(rillway.__file__).parent.parent)


class ServerFailed(Exception):
    """The server did not start; the message contains its output."""


class Service:
    """A server process that runs in `directory`, beside its `server.log` and `server.pid`."""

    def __init__(self, directory: Path, port: int) -> None:
        """Start it on `port` (0: a free one) and wait until it answers.

        Raises ServerFailed.
        """
        self.log = directory / "server.log"
        self.pid_file = directory / "server.pid"
        directory.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rillway", "serve", "--port", str(port), "--save", ""],
                cwd=directory,
                env=os.environ | {"PYTHONPATH": IMPORT_ROOT},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Its own session: it may outlive the demo, and Ctrl-C is not sent to it.
                start_new_session=True,
            )
        self.pid_file.write_text(f"{self.process.pid}\n")
        try:
            self.port = self.wait_until_ready()
        except BaseException:  # also for Ctrl-C: no other code can end the process yet
            self.stop()
            raise

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def wait_until_ready(self) -> int:
        """The port on which it answers. Raises ServerFailed."""
        poll(lambda: self.open_port() or self.process.poll() is not None, START_SECONDS)
        port = self.open_port()
        if port is None:
            raise ServerFailed(f"the server did not start:\n{self.log.read_text(errors='replace')}")
        return port

    def open_port(self) -> int | None:
        match = PORT_LINE.search(self.log.read_text(errors="replace"))
        return int(match[1]) if match and self.answers_on(int(match[1])) else None

    def answers_on(self, port: int) -> bool:
        """Return True if this process listens on `port`, not a server that was started earlier."""
        try:
            with redis.Redis(port=port) as client:
                return bool(client.info("server")["process_id"] == self.process.pid)
        except redis.RedisError:
            return False

    def stop(self) -> None:
        """End the process: SIGTERM, then SIGKILL."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.pid_file.unlink(missing_ok=True)


class DemoFailed(Exception):
    """The run could not be finished; the message says why."""


@contextmanager
def open_server(options: argparse.Namespace) -> Iterator[str]:
    """The URL of the server to use: a given one, or one started for this run.

    Raises ServerFailed.
    """
    if options.url is not None:
        yield options.url
        return
    with tempfile.TemporaryDirectory(prefix="rillway-demo-") as temporary:
        service = Service(options.directory or Path(temporary), options.port)
        try:
            yield service.url
        finally:
            if options.keep_server:
                print(f"\nThe server is still running: redis-cli -p {service.port}")
                print(f"Stop it: kill {service.process.pid}", flush=True)
            else:
                service.stop()


def clear_keys(client: redis.Redis, keys: Sequence[str], overwrite: bool) -> None:
    """Delete a demo's keys, if that is allowed.

    Raises DemoFailed if they exist and may not be deleted.
    """
    if overwrite:
        client.delete(*keys)
    elif client.exists(*keys):
        raise DemoFailed(
            f"of the keys {', '.join(keys)} there are some on this server; --overwrite deletes them"
        )


def walk(client: redis.Redis, key: str) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    """Every entry of a stream, page by page."""
    start = b"-"
    while True:
        entries: Any = client.xrange(key, min=start, count=PAGE)
        if not entries:
            return
        yield from entries
        start = b"(" + entries[-1][0]


class Screen:
    """`rillway top` with `options`: a process of its own, on the same terminal, until q is pressed.

    A demo does not draw by itself: drawing while a pipeline is in flight would count as latency.
    """

    def __init__(self, url: str, *options: str) -> None:
        words = [sys.executable, "-m", "rillway", "top", "--url", url, *options]
        self._top = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": IMPORT_ROOT})

    @property
    def is_open(self) -> bool:
        return self._top.poll() is None

    def close(self) -> None:
        """Close `rillway top`, which restores the terminal."""
        self._top.terminate()
        try:
            self._top.wait(SCREEN_SECONDS)
        except subprocess.TimeoutExpired:
            self._top.kill()
            self._top.wait()


def parent_is_gone() -> bool:
    """Return True in a demo's process whose parent has ended, however it ended."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()
