"""Start-up times: of `rillway serve` to its first PONG, and of `rillway.testing.server()`, in ms.

The goals are 150 for the first and 300 for the second.

    PYTHONPATH=. python benchmarks/startup.py [--runs 9]

The first run may compile the modules to bytecode, so it is shown but not counted.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import rillway.testing

ROOT = Path(__file__).resolve().parents[1]
PORT_LINE = re.compile(rb"\bport (\d+)")


def first_pong_ms() -> float:
    """Start a server, ask it PING, stop it."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "rillway", "serve", "--port", "0", "--save", ""],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        port = next(int(found[1]) for line in process.stdout if (found := PORT_LINE.search(line)))
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"PING\r\n")
            assert connection.recv(64) == b"+PONG\r\n"
        return (time.perf_counter() - started) * 1000
    finally:
        process.terminate()
        process.wait()


def test_server_ms() -> float:
    """Start a server as a test session does."""
    started = time.perf_counter()
    with rillway.testing.server():
        return (time.perf_counter() - started) * 1000


def show(what: str, times_ms: list[float]) -> None:
    first_ms, *rest_ms = times_ms
    print(
        f"{what}: {statistics.median(rest_ms):.0f} ms (median of {len(rest_ms)};"
        f" best {min(rest_ms):.0f}, worst {max(rest_ms):.0f}; first run {first_ms:.0f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    show("first PONG of `rillway serve`", [first_pong_ms() for _ in range(runs + 1)])
    show("rillway.testing.server()", [test_server_ms() for _ in range(runs + 1)])


if __name__ == "__main__":
    main()
