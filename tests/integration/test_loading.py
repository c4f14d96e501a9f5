"""A server that loads, seen from outside: the real process, on real files."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from storage.append_only.requests import encode_requests
from tests.support import processes
from tests.support.servers import ROOT, RunningServer, free_port

pytestmark = pytest.mark.integration

# SETs take the long way, one by one: that many take a second or more.
MANY = 400_000
FILE = "appendonly.aof"


def start(folder: Path, *directives: str) -> RunningServer:
    """A server that may not be ready yet."""
    port, log = free_port(), folder / "rillway.log"
    argv = [sys.executable, "-m", "rillway", "serve", "--port", str(port), "--dir", str(folder)]
    argv += ["--appendonly", "yes", "--save", "", *directives]
    return RunningServer("rillway", port, processes.start(argv, folder=ROOT, output=log), log)


def first_reply(server: RunningServer, *request: str) -> bytes:
    """The reply to a request as soon as the server listens."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with server.connect() as client:
                return client.send(*request)
        except OSError:
            time.sleep(0.01)
    raise AssertionError(server.output())


def write_large_file(folder: Path) -> bytes:
    data = encode_requests([[b"SET", b"key:%d" % (n % 1000), b"%d" % n] for n in range(MANY)])
    (folder / FILE).write_bytes(data)
    return data


def test_clients_are_told_to_wait_until_the_data_is_loaded(tmp_path: Path) -> None:
    write_large_file(tmp_path)
    server = start(tmp_path)
    try:
        assert first_reply(server, "GET", "key:1").startswith(b"-LOADING ")
        with server.connect() as client:
            assert b"loading:1\r\n" in client.send("INFO", "persistence")
            deadline = time.monotonic() + 60
            while client.send("DBSIZE") != b":1000\r\n":
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert b"loading:0\r\n" in client.send("INFO", "persistence")
    finally:
        assert server.stop() == 0, server.output()


def test_a_server_that_loads_ends_at_once_when_it_is_told_to(tmp_path: Path) -> None:
    data = write_large_file(tmp_path)
    server = start(tmp_path)
    assert first_reply(server, "GET", "key:1").startswith(b"-LOADING ")
    assert server.stop() == 0, server.output()
    assert "Ready to accept" not in server.output()
    assert (tmp_path / FILE).read_bytes() == data
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, "rillway.log"]


def test_a_damaged_file_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(encode_requests([[b"SET", b"a", b"1"]]) + b"hello\r\n")
    server = start(tmp_path)
    assert server.process.wait(15) == 1
    assert f"Bad file format reading the append only file {FILE}: '*' expected" in server.output()
    assert f"`rillway check {FILE}`" in server.output()
    assert [path.name for path in tmp_path.glob("append*")] == [FILE]
