"""A server that loads, seen from outside: the real process, on real files."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.config.configuration import Configuration
from server.loop.service import Service
from storage.append_only.requests import encode_requests
from tests.support.programs.ports import free_port
from tests.support.programs.servers import RunningServer, begin_rillway
from tests.support.waiting import until

pytestmark = pytest.mark.integration

# INCRs take the long way, one by one: that many take a second or more.
MANY = 400_000
FILE = "appendonly.aof"


def start(folder: Path, *directives: str) -> RunningServer:
    """A server that may not be ready yet."""
    port, log = free_port(), folder / "rillway.log"
    words = ["--port", str(port), "--dir", str(folder), "--appendonly", "yes", "--save", ""]
    return RunningServer("rillway", port, begin_rillway(log, *words, *directives), log)


def first_reply(server: RunningServer, *request: str) -> bytes:
    """The reply to a request as soon as the server listens."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with server.connect() as client:
                return client.send(*request)
        except OSError:
            time.sleep(0.01)
    raise AssertionError(server.output())


def write_large_file(folder: Path) -> bytes:
    data = encode_requests([[b"INCR", b"key:%d" % (n % 1000)] for n in range(MANY)])
    (folder / FILE).write_bytes(data)
    return data


def test_clients_are_answered_loading_until_the_data_is_loaded(tmp_path: Path) -> None:
    write_large_file(tmp_path)
    server = start(tmp_path)
    try:
        assert first_reply(server, "GET", "key:1").startswith(b"-LOADING ")
        with server.connect() as client:
            assert b"loading:1\r\n" in client.send("INFO", "persistence")
            until(lambda: client.send("DBSIZE") == b":1000\r\n", seconds=60)
            assert b"loading:0\r\n" in client.send("INFO", "persistence")
    finally:
        assert server.stop() == 0, server.output()


def test_a_loading_server_ends_at_once_on_a_signal(tmp_path: Path) -> None:
    data = write_large_file(tmp_path)
    server = start(tmp_path)
    assert first_reply(server, "GET", "key:1").startswith(b"-LOADING ")
    assert server.stop() == 0, server.output()
    assert "Ready to accept" not in server.output()
    assert (tmp_path / FILE).read_bytes() == data
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, "rillway.log"]


def test_a_signal_ends_a_script_in_a_file(tmp_path: Path) -> None:
    script = b"redis.log(redis.LOG_WARNING, 'begun') while true do pcall(error) end"
    data = encode_requests([[b"SET", b"k", b"1"], [b"EVAL", script, b"0"]])
    (tmp_path / FILE).write_bytes(data)
    server = start(tmp_path)
    while "begun" not in server.output():
        assert server.process.poll() is None
        time.sleep(0.01)
    assert server.stop() == 0, server.output()
    assert (tmp_path / FILE).read_bytes() == data


def test_a_damaged_file_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(encode_requests([[b"SET", b"a", b"1"]]) + b"hello\r\n")
    server = start(tmp_path)
    assert server.process.wait(15) == 1
    assert f"Bad file format reading the append only file {FILE}: '*' expected" in server.output()
    assert f"`rillway check {FILE}`" in server.output()
    assert [path.name for path in tmp_path.glob("append*")] == [FILE]


# -- between listening and loading -------------------------------------------------------------


async def ask(service: Service, request: bytes, seconds: float) -> bytes:
    """The reply to a request; nothing if it is not answered within a time."""
    port = service.listeners.places[0][2]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.readline(), seconds)
    except TimeoutError:
        return b""
    finally:
        writer.close()


async def ask_before_and_after_loading(request: bytes) -> tuple[bytes, bool, bytes]:
    """(reply, whether the data was loaded, reply)."""
    config = Configuration()
    config.port, config.bind, config.save = 0, ["127.0.0.1"], ()
    service = Service(config, None, asyncio.get_running_loop())
    await service.start()
    try:
        before = await ask(service, request, 60.0)
        is_loaded = await service.load()
        return before, is_loaded, await ask(service, request, 60.0 if is_loaded else 0.3)
    finally:
        service._stopped.set()
        await service.leave()


@pytest.fixture
def collector() -> Iterator[None]:
    """Loading changes how the collector of garbage works; other tests want it as it was."""
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


@pytest.mark.usefixtures("collector")
def test_no_request_runs_before_the_data_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before, is_loaded, after = asyncio.run(ask_before_and_after_loading(b"SET k v\r\n"))
    assert before.startswith(b"-LOADING ")
    assert (is_loaded, after) == (True, b"+OK\r\n")


@pytest.mark.usefixtures("collector")
def test_no_request_runs_when_the_data_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.rdb").write_bytes(b"this is no snapshot")
    before, is_loaded, after = asyncio.run(ask_before_and_after_loading(b"SET k v\r\n"))
    assert before.startswith(b"-LOADING ")
    assert (is_loaded, after) == (False, b"")
