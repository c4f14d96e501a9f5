"""How fast the data comes back at a start: Rillway beside redis-server, on the same files.

redis-server makes the files from `redis-benchmark XADD s * f __rand_int__`: small entries, one
stream. Then both are started on copies of them, in turn, and say in their log how long they loaded.

    PYTHONPATH=. python benchmarks/loading.py [--entries 1000000] [--runs 5]

The goals, as a share of Redis's rate: a half from the append-only file, a third from a snapshot.
An append-only file with a base is the snapshot of the first half of the entries, and requests for
the second.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOADED = re.compile(rb"DB loaded from (?:append only file|disk): ([0-9.]+) seconds")
READY = b"Ready to accept connections"

APPEND_ONLY = ["--appendonly", "yes", "--save", "", "--auto-aof-rewrite-percentage", "0"]
SNAPSHOT = ["--appendonly", "no", "--save", ""]
# What is loaded: (its name, directory, directives of the server that loads it, goal).
CASES = [
    ("append-only file", "requests", APPEND_ONLY, 1 / 2),
    ("snapshot", "snapshot", SNAPSHOT, 1 / 3),
    ("append-only file with a base", "mixed", APPEND_ONLY, 1 / 2),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rillway-loading-") as directory:
        make_files(Path(directory), options.entries)
        for name, files, directives, goal in CASES:
            compare(name, Path(directory) / files, directives, goal, options)


def compare(
    name: str, files: Path, directives: list[str], goal: float, options: argparse.Namespace
) -> None:
    """Load the same files with both, in turn."""
    rillway = [sys.executable, "-m", "rillway", "serve"]
    ours, theirs = [], []
    for _ in range(options.runs):
        theirs.append(seconds_to_load(["redis-server"], files, directives))
        ours.append(seconds_to_load(rillway, files, directives))
    mine, redis = statistics.median(ours), statistics.median(theirs)
    print(
        f"{name}: Rillway {mine:.3f} s ({options.entries / mine:,.0f} entries/s), Redis"
        f" {redis:.3f} s ({options.entries / redis:,.0f} entries/s): {redis / mine:.2f} of Redis's"
        f" rate (goal {goal:.2f}; medians of {options.runs}, Rillway's from {min(ours):.3f} to"
        f" {max(ours):.3f}, Redis's from {min(theirs):.3f} to {max(theirs):.3f})"
    )


def seconds_to_load(server: list[str], files: Path, directives: list[str]) -> float:
    """Start a server on a copy of the files; how long it loaded, as its log says."""
    with tempfile.TemporaryDirectory(prefix="rillway-loading-") as directory:
        copy = Path(directory) / "data"
        shutil.copytree(files, copy)
        with Server(server, copy, directives) as started:
            found = LOADED.search(started.log)
            assert found is not None, started.log.decode()
            return float(found[1])


def make_files(directory: Path, entries: int) -> None:
    """The directories that CASES name, filled by redis-server."""
    for name, preamble in (("requests", "no"), ("mixed", "yes")):
        (directory / name).mkdir()
        directives = [*APPEND_ONLY, "--aof-use-rdb-preamble", preamble]
        with Server(["redis-server"], directory / name, directives) as server:
            if name == "mixed":
                server.add_entries(entries // 2)
                server.call("BGREWRITEAOF")
                while b"aof_rewrite_in_progress:1" in server.call("INFO", "persistence"):
                    time.sleep(0.1)
                server.add_entries(entries - entries // 2)
                continue
            server.add_entries(entries)
            server.call("SAVE")
    (directory / "snapshot").mkdir()
    (directory / "requests" / "dump.rdb").rename(directory / "snapshot" / "dump.rdb")


class Server:
    """A server on a free port in `directory`, from its start until it is ready."""

    def __init__(self, command: list[str], directory: Path, directives: list[str]) -> None:
        self.port = free_port()
        self.log = b""
        arguments = ["--port", str(self.port), "--dir", str(directory), *directives]
        self._process = subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE)

    def __enter__(self) -> Server:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.log += line
            if READY in line:
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

    def add_entries(self, count: int) -> None:
        """XADD so often."""
        command = ["redis-benchmark", "-p", str(self.port), "-n", str(count), "-r", "1000000"]
        command += ["-P", "100", "-q", "XADD", "s", "*", "f", "__rand_int__"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def free_port() -> int:
    """A port that nobody listens on at present."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main()
