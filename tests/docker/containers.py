"""`docker run` and `docker exec` without Docker, on a container that buildah made.

`buildah run` applies what the image says of user, folder and variables; entry point, command and
health check are put together here, from what the image says of them, as a container engine does it.
Expects process numbers of its own (tests/docker/run.sh): every process of the server's user counts
as the container's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from tests.docker.buildah import command
from tests.support.programs import processes

USER_ID = 999
READY_SECONDS = 60.0
POLL_SECONDS = 0.02


@dataclass
class Server:
    """A server on its way up. `process` is what waits for it, `log` holds what both print."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int = 6379

    @property
    def client(self) -> redis.Redis:
        return redis.Redis("127.0.0.1", self.port, decode_responses=True)

    @property
    def pid(self) -> int:
        (pid,) = container_pids()
        return pid

    def answers(self) -> bool:
        """Whether it answers PING on the loopback interface, without a password."""
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Fails with what was printed if the server ends, or the condition takes too long."""
        deadline = time.monotonic() + READY_SECONDS
        while not condition():
            assert self.process.poll() is None, f"it ended: {self.log.read_text()}"
            assert time.monotonic() < deadline, f"it takes too long: {self.log.read_text()}"
            time.sleep(POLL_SECONDS)

    def terminate(self) -> float:
        """Send SIGTERM. The seconds until it was gone; its exit status must be 0."""
        started = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        assert self.process.wait(READY_SECONDS) == 0, self.log.read_text()
        return time.monotonic() - started


@contextmanager
def started(words: list[str], folder: Path, port: int = 6379) -> Iterator[Server]:
    """The server of a command; what is left of it at the end is killed."""
    log = folder / "server.log"
    process = processes.start(words, folder=folder, output=log)
    try:
        yield Server(process, log, port)
    finally:
        for pid in container_pids():
            os.kill(pid, signal.SIGKILL)
        processes.stop(process)


@dataclass
class Container:
    """A container: its name in buildah, and the image's configuration.

    `folder` is for the log, the folder `volume` is mounted at /data.
    """

    name: str
    config: dict[str, Any]
    folder: Path
    volume: Path

    def words(self, *arguments: str, variables: tuple[str, ...] = ()) -> list[str]:
        """The command for `docker run -v VOLUME:/data -e VARIABLE IMAGE ARGUMENT ...`."""
        options = ["--isolation", "chroot", "--volume", f"{self.volume}:/data"]
        options += [f"--env={variable}" for variable in variables]
        inside = [*self.config["Entrypoint"], *(arguments or self.config["Cmd"])]
        return command("run", *options, self.name, "--", *inside)

    def run(
        self, *arguments: str, variables: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end: what was printed, and the exit status."""
        words = self.words(*arguments, variables=variables)
        return subprocess.run(words, capture_output=True, text=True, timeout=READY_SECONDS)

    @contextmanager
    def serving(
        self, *arguments: str, port: int = 6379, variables: tuple[str, ...] = ()
    ) -> Iterator[Server]:
        """Run a server that answers on the port, ended afterwards if it has not ended by itself."""
        words = self.words(*arguments, variables=variables)
        with started(words, self.folder, port) as server:
            server.wait_until(server.answers)
            yield server

    def is_healthy(self) -> bool:
        """Whether the image's health check passes now."""
        kind, *check = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        words = command("run", "--isolation", "chroot", self.name, "--", *check)
        seconds = self.config["Healthcheck"]["Timeout"] / 1e9 + 1  # and one to enter the container
        return subprocess.run(words, capture_output=True, timeout=seconds).returncode == 0


def container_pids() -> list[int]:
    """The processes of the server's user, without buildah's own."""
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [int(folder.name) for folder in folders if is_in_container(folder)]


def is_in_container(process: Path) -> bool:
    try:
        program = (process / "cmdline").read_bytes().partition(b"\0")[0]
        return process.stat().st_uid == USER_ID and program != b"buildah-chroot-exec"
    except FileNotFoundError:  # it has ended
        return False
