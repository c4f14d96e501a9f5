"""Long-running scripts over real sockets: other clients are answered, and can kill the script."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.conftest import StartRillway
from tests.support.programs.servers import RunningServer, start_rillway
from tests.support.resp import RespClient

pytestmark = pytest.mark.integration

FOREVER = "while true do end"
BEGIN = "redis.log(redis.LOG_WARNING, 'begun') "
BUSY = b"-BUSY Redis is busy running a script. You can only call"
KILLED = b"-ERR Script killed by user with SCRIPT KILL..."
LIBRARY = "#!lua name=lib\nredis.register_function('f', function() while true do end end)"


@pytest.fixture
def server(run_rillway: StartRillway) -> RunningServer:
    debug = ("--enable-debug-command", "yes")
    return run_rillway("--busy-reply-threshold", "20", "--appendonly", "yes", *debug)


def until_busy(client: RespClient) -> None:
    while not client.send("GET", "k").startswith(BUSY):
        pass


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (("EVAL", FOREVER, "0"), ("SCRIPT", "KILL")),
        (("EVAL", "while true do pcall(string.rep, 'x', 1000) end", "0"), ("SCRIPT", "KILL")),
        (("FCALL", "f", "0"), ("FUNCTION", "KILL")),
    ],
)
def test_another_connection_ends_a_script(
    server: RunningServer, start: tuple[str, ...], end: tuple[str, ...]
) -> None:
    with server.connect() as caller, server.connect() as other:
        other.send("FUNCTION", "LOAD", LIBRARY)
        caller.write(*start)
        until_busy(other)
        assert other.send(*end) == b"+OK\r\n"
        assert caller.read_reply().startswith(KILLED)
        assert other.send("SET", "k", "v") == b"+OK\r\n"
        assert caller.send("GET", "k") == b"$1\r\nv\r\n"


def test_a_transaction_with_a_script_is_ended(server: RunningServer) -> None:
    with server.connect() as caller, server.connect() as other:
        caller.pipeline([("MULTI",), ("SET", "k", "v"), ("EVAL", FOREVER, "0")])
        caller.write("EXEC")
        until_busy(other)
        assert other.send("SCRIPT", "KILL") == b"+OK\r\n"
        assert caller.read_reply().startswith(b"*2\r\n+OK\r\n" + KILLED)


def test_a_long_script_that_has_written_runs_to_its_end(server: RunningServer) -> None:
    script = """
        redis.call('set', 'k', 1)
        for i = 1, 5e7 do end
        return redis.call('incr', 'k')
    """
    with server.connect() as caller, server.connect() as other:
        caller.write("EVAL", script, "0")
        until_busy(other)
        assert other.send("SCRIPT", "KILL").startswith(b"-UNKILLABLE ")
        assert caller.read_reply() == b":2\r\n"
        assert other.send("DEBUG", "LOADAOF") == b"+OK\r\n"
        assert other.send("GET", "k") == b"$1\r\n2\r\n"


def test_shutdown_nosave_ends_the_server(server: RunningServer) -> None:
    with server.connect() as caller, server.connect() as other:
        caller.write("EVAL", FOREVER, "0")
        until_busy(other)
        assert other.send("SHUTDOWN", "SAVE").startswith(BUSY)
        other.write("SHUTDOWN", "NOSAVE")
        server.process.wait(20)
    assert server.process.returncode == 0


def wait_for_line(server: RunningServer, text: str) -> None:
    while text not in server.output():
        assert server.process.poll() is None
        time.sleep(0.01)


@pytest.mark.parametrize("threshold", ["20", "0"])
@pytest.mark.parametrize(
    "start",
    [
        ("EVAL", BEGIN + FOREVER, "0"),
        ("EVAL", BEGIN + "redis.call('set', 'part', 1) " + FOREVER, "0"),
        ("EVAL", BEGIN + f"while true do pcall(coroutine.wrap(function() {FOREVER} end)) end", "0"),
        ("FUNCTION", "LOAD", "#!lua name=l\n" + BEGIN + FOREVER),
    ],
)
def test_a_signal_ends_the_server_and_its_files_have_no_part_of_a_script(
    tmp_path: Path, start: tuple[str, ...], threshold: str
) -> None:
    directives = ("--appendonly", "yes", "--save", "1 1", "--busy-reply-threshold", threshold)
    server = start_rillway(tmp_path, *directives)
    try:
        with server.connect() as caller, server.connect() as other:
            assert other.send("SET", "before", "1") == b"+OK\r\n"
            caller.write(*start)
            wait_for_line(server, "begun")
            assert server.stop() == 0
        has_written = "part" in start[1]
        assert ("its changes are dropped, unsaved" in server.output()) == has_written
        assert (tmp_path / "dump.rdb").exists() != has_written
        again = tmp_path / "again"  # the folder of its log
        again.mkdir()
        server = start_rillway(again, *directives, "--dir", str(tmp_path))
        with server.connect() as client:
            assert client.send("KEYS", "*") == b"*1\r\n$6\r\nbefore\r\n"
    finally:
        server.stop()


def test_a_replica_gets_no_part_of_a_script_that_is_ended(run_rillway: StartRillway) -> None:
    primary = run_rillway("--busy-reply-threshold", "20", "--repl-diskless-sync-delay", "0")
    replica = run_rillway("--replicaof", f"127.0.0.1 {primary.port}")
    with primary.connect() as caller, primary.connect() as other:
        other.send("SET", "before", "1")
        while other.send("WAIT", "1", "100") != b":1\r\n":
            pass
        caller.write("EVAL", "redis.call('set', 'part', 1) " + FOREVER, "0")
        until_busy(other)
        assert other.send("SCRIPT", "KILL").startswith(b"-UNKILLABLE ")
        assert primary.stop() == 0
    with replica.connect() as client:
        while b"master_link_status:up" in client.send("INFO", "replication"):
            pass
        assert client.send("KEYS", "*") == b"*1\r\n$6\r\nbefore\r\n"
