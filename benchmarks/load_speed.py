"""Loading speed at a start: Rillway beside redis-server, on the same files.

redis-server writes the files. Then both are started on copies of them, in turn. Their logs report
the loading time, which is checked against the time until they were ready; the amount of data is
checked against that of the server that wrote the files.

    PYTHONPATH=. python benchmarks/load_speed.py [--runs 5] [--only NAME]

The goals, as a share of Redis's rate: all of it from an append-only file of requests, a half from
one that begins with a snapshot, a third from a snapshot.
"""

from __future__ import annotations

import argparse
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hiredis

from benchmarks.machine import end_with_parent

ROOT = Path(__file__).resolve().parents[1]
LOADED = re.compile(rb"DB loaded from (?:append only file|disk): ([0-9.]+) seconds")
READY = b"Ready to accept connections"
# The most that a start may take besides loading; with more, the log's figure is not plausible.
START_SECONDS = 3.0

APPEND_ONLY = ("--appendonly", "yes", "--save", "", "--auto-aof-rewrite-percentage", "0")
ONLY_REQUESTS = (*APPEND_ONLY, "--aof-use-rdb-preamble", "no")
SNAPSHOT = ("--appendonly", "no", "--save", "")
ENTRIES = 1_000_000
GROUP_ENTRIES = 200_000
READ_COUNT = 10
BATCH = 100
HELD = "held"  # the file with the amount of data of the server that wrote the others


class Server:
    """A server on a free port in `directory`, from its start until it is ready."""

    def __init__(
        self,
        command: list[str],
        directory: Path,
        directives: tuple[str, ...],
        environment: dict[str, str] | None = None,
    ) -> None:
        self.port = free_port()
        self.log = b""
        self.ready_seconds = 0.0
        self._started = time.monotonic()
        arguments = ["--port", str(self.port), "--dir", str(directory), *directives]
        self._process = subprocess.Popen(
            [*command, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

    def __enter__(self) -> Server:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.log += line
            if READY in line:
                self.ready_seconds = time.monotonic() - self._started
                return self
        self._process.wait()
        raise RuntimeError(self.log.decode())

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def call(self, *words: str) -> bytes:
        """A command by way of redis-cli."""
        command = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def benchmark(self, count: int, *words: str) -> None:
        """Run a command `count` times, each with a random number."""
        command = ["redis-benchmark", "-p", str(self.port), "-n", str(count), "-r", "1000000"]
        subprocess.run([*command, "-P", "100", "-q", *words], check=True, stdout=subprocess.DEVNULL)

    def add_entries(self, count: int) -> None:
        """Run XADD `count` times, on the stream `s`."""
        self.benchmark(count, "XADD", "s", "*", "f", "__rand_int__")

    def held(self) -> bytes:
        """The amount of data."""
        return self.call("DBSIZE") + self.call("XLEN", "s")


# -- the files -------------------------------------------------------------------------------------


def _add(server: Server) -> None:
    server.add_entries(ENTRIES)


def _add_and_save(server: Server) -> None:
    server.add_entries(ENTRIES)
    server.call("SAVE")


def _add_around_a_rewrite(server: Server) -> None:
    """A base that is the snapshot of the first half of the entries, requests for the second."""
    server.add_entries(ENTRIES // 2)
    server.call("BGREWRITEAOF")
    while b"aof_rewrite_in_progress:1" in server.call("INFO", "persistence"):
        time.sleep(0.1)
    server.add_entries(ENTRIES // 2)


def _set(server: Server) -> None:
    server.benchmark(ENTRIES, "SET", "key:__rand_int__", "value:__rand_int__")


def _consume(server: Server) -> None:
    """Entries, each delivered to one of ten consumers, and acknowledged with those beside it."""
    server.add_entries(GROUP_ENTRIES)
    server.call("XGROUP", "CREATE", "s", "g", "0")
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        for reads in _groups_of(range(GROUP_ENTRIES // READ_COUNT), BATCH):
            replies = _ask(connection, [_read(f"c{number % 10}") for number in reads])
            entries = [[entry for entry, _ in streams[0][1]] for streams in replies]
            _ask(connection, [_pack("XACK", "s", "g", *ids) for ids in entries])


def _read(consumer: str) -> bytes:
    return _pack("XREADGROUP", "GROUP", "g", consumer, "COUNT", READ_COUNT, "STREAMS", "s", ">")


def _pack(*words: str | int | bytes) -> bytes:
    packed: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]
    return packed


def _ask(connection: socket.socket, requests: list[bytes]) -> list[Any]:
    """Send some requests in one write; returns the replies."""
    connection.sendall(b"".join(requests))
    reader = hiredis.Reader()
    replies: list[Any] = []
    while len(replies) < len(requests):
        reader.feed(connection.recv(1 << 16))
        while (reply := reader.gets()) is not False:
            replies.append(reply)
    return replies


def _groups_of(numbers: range, size: int) -> Iterator[range]:
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]


@dataclass(frozen=True)
class Files:
    """Files that redis-server writes for some data, and the directives to load them with."""

    name: str
    work: Callable[[Server], None]
    count: int
    unit: str
    goal: float | None
    directives: tuple[str, ...]
    made_with: tuple[str, ...]

    def make(self, directory: Path) -> None:
        """Let redis-server fill a directory."""
        with Server(["redis-server"], directory, self.made_with) as server:
            self.work(server)
            (directory / HELD).write_bytes(server.held())


ALL_FILES = [
    Files("requests", _add, ENTRIES, "entries/s", 1.0, APPEND_ONLY, ONLY_REQUESTS),
    Files("snapshot", _add_and_save, ENTRIES, "entries/s", 1 / 3, SNAPSHOT, SNAPSHOT),
    Files("mixed", _add_around_a_rewrite, ENTRIES, "entries/s", 1 / 2, APPEND_ONLY, APPEND_ONLY),
    Files("strings", _set, ENTRIES, "requests/s", None, APPEND_ONLY, ONLY_REQUESTS),
    Files("group", _consume, GROUP_ENTRIES, "entries/s", None, APPEND_ONLY, ONLY_REQUESTS),
]


def seconds_to_load(
    server: list[str], folder: Path, files: Files, environment: dict[str, str] | None = None
) -> float:
    """Start a server on a copy of the files; how long it loaded, as its log says.

    Raises RuntimeError if its data is not as expected, or it took longer than it reports.
    """
    with tempfile.TemporaryDirectory(prefix="rillway-loading-") as directory:
        copy = Path(directory) / "data"
        shutil.copytree(folder, copy)
        with Server(server, copy, files.directives, environment) as started:
            found = LOADED.search(started.log)
            if found is None:
                raise RuntimeError(started.log.decode())
            seconds = float(found[1])
            if not seconds <= started.ready_seconds <= seconds + START_SECONDS:
                raise RuntimeError(f"ready after {started.ready_seconds} s, loaded in {seconds} s")
            if started.held() != (folder / HELD).read_bytes():
                raise RuntimeError(f"{server[0]} did not load all of {files.name}")
            return seconds


def free_port() -> int:
    """An unused port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


# -- as a program ----------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=[files.name for files in ALL_FILES])
    options = parser.parse_args()
    for files in ALL_FILES:
        if options.only in (None, files.name):
            with tempfile.TemporaryDirectory(prefix="rillway-loading-") as directory:
                files.make(Path(directory))
                compare(files, Path(directory), options.runs)


def compare(files: Files, folder: Path, runs: int) -> None:
    """Load the same files with both, in turn."""
    rillway = [sys.executable, "-m", "rillway", "serve"]
    ours, theirs = [], []
    for _ in range(runs):
        theirs.append(seconds_to_load(["redis-server"], folder, files))
        ours.append(seconds_to_load(rillway, folder, files))
    mine, redis = statistics.median(ours), statistics.median(theirs)
    goal = f"goal {files.goal:.2f}; " if files.goal else ""
    print(
        f"{files.name}: Rillway {mine:.3f} s ({files.count / mine:,.0f} {files.unit}), Redis"
        f" {redis:.3f} s ({files.count / redis:,.0f}): {redis / mine:.2f} of Redis's rate"
        f" ({goal}medians of {runs}, Rillway's from {min(ours):.3f} to {max(ours):.3f}, Redis's"
        f" from {min(theirs):.3f} to {max(theirs):.3f})"
    )


if __name__ == "__main__":
    main()
