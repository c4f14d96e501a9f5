"""Durability of a real process on a real file system: forks, signals, kills, failing writes."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.programs.servers import ROOT, SERVED, RunningServer, start_redis, start_rillway
from tests.support.resp import BrokenReply, RespClient
from tests.support.waiting import until

DEADLINE_SECONDS = 30.0
CHILD = re.compile(r"(?:saving|rewriting) started by pid (\d+)")
# So much data keeps a child busy for long enough to meet it.
MANY_KEYS = 60_000

Start: TypeAlias = Callable[..., RunningServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a Rillway on the files of the one before it; they end with the test."""
    started: list[RunningServer] = []

    def run(*directives: str) -> RunningServer:
        (tmp_path / "rillway.log").unlink(missing_ok=True)
        started.append(start_rillway(tmp_path, *directives))
        return started[-1]

    yield run
    for server in started:
        server.stop()


def info(client: RespClient) -> dict[str, str]:
    text = client.send("INFO", "persistence").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def idle(client: RespClient) -> bool:
    found = info(client)
    return found["rdb_bgsave_in_progress"] == found["aof_rewrite_in_progress"] == "0"


def fill(client: RespClient) -> None:
    client.pipeline([("SET", f"key:{number}", "x" * 200) for number in range(MANY_KEYS)])


def stopped_child(server: RunningServer, client: RespClient, command: str) -> int:
    """Start a child and hold it up; its process ID. It goes on when the test lets it."""
    assert client.send(command).startswith(b"+Background")
    pid = int(CHILD.findall(server.output())[-1])
    os.kill(pid, signal.SIGSTOP)
    return pid


def goes_on_without_sockets(pid: int) -> bool:
    """Let a stopped child go on for a moment; whether it has closed all sockets."""
    os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGSTOP)
    descriptors = Path(f"/proc/{pid}/fd")
    return not any(os.readlink(path).startswith("socket:") for path in descriptors.iterdir())


def limit_file_size(server: RunningServer, size: int) -> None:
    """Let writes beyond a size fail, for root as well. RLIM_INFINITY: no limit.

    It holds for the log, too: a file that is to fail must be larger.
    """
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


# -- snapshots ---------------------------------------------------------------------------------


def test_a_snapshot_in_the_background_holds_what_was_there_when_it_began(start: Start) -> None:
    server = start()
    with server.connect() as client:
        fill(client)
        child = stopped_child(server, client, "BGSAVE")
        client.pipeline([("SET", f"key:{number}", "new") for number in range(MANY_KEYS)])
        client.send("XADD", "later", "*", "f", "v")
        os.kill(child, signal.SIGCONT)
        until(lambda: idle(client))
        assert info(client)["rdb_last_bgsave_status"] == "ok"
        assert info(client)["rdb_changes_since_last_save"] == str(MANY_KEYS + 1)
        assert int(info(client)["rdb_last_cow_size"]) > 0
    server.kill()
    with start().connect() as client:
        assert client.send("DBSIZE") == b":%d\r\n" % MANY_KEYS
        assert client.send("GET", "key:7") == b"$200\r\n" + b"x" * 200 + b"\r\n"


@pytest.mark.skipif(
    SERVED == ROOT, reason="interpreted, the child counts references to what a node is made of"
)
def test_a_child_copies_little_of_the_entries_that_it_saves(start: Start) -> None:
    draw = random.Random(1)
    with start().connect() as client:
        for _ in range(200):
            client.pipeline([("XADD", "s", "*", "f", draw.randbytes(200)) for _ in range(1000)])
        assert int(client.send("MEMORY", "USAGE", "s")[1:]) > 40_000_000
        client.send("BGSAVE")
        until(lambda: idle(client))
        assert 0 < int(info(client)["rdb_last_cow_size"]) < 15_000_000


def test_a_child_that_is_killed_leaves_the_old_snapshot_and_no_other_file(
    start: Start, tmp_path: Path
) -> None:
    server = start("--save", "3600 1")
    with server.connect() as client:
        client.send("SET", "k", "old")
        client.send("SAVE")
        fill(client)
        os.kill(stopped_child(server, client, "BGSAVE"), signal.SIGKILL)
        until(lambda: idle(client))
        assert info(client)["rdb_last_bgsave_status"] == "err"
        assert client.send("SET", "k", "new").startswith(b"-MISCONF Redis is configured to save")
        assert client.send("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") == b"+OK\r\n"
        assert client.send("SET", "k", "new") == b"+OK\r\n"
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == ["dump.rdb", "rillway.lock", "rillway.log"]
    server.kill()
    with start().connect() as client:
        assert client.send("DBSIZE") == b":1\r\n"


def test_writes_are_refused_until_a_snapshot_can_be_put_in_place(
    start: Start, tmp_path: Path
) -> None:
    server = start("--save", "3600 1")
    (tmp_path / "dump.rdb").mkdir()
    with server.connect() as client:
        client.send("SET", "k", "v")
        assert client.send("SAVE") == b"-ERR\r\n"
        client.send("BGSAVE")
        until(lambda: idle(client))
        assert "Background saving error: [Errno 21] Is a directory" in server.output()
        assert client.send("XADD", "s", "*", "f", "v").startswith(b"-MISCONF ")
        assert client.send("SHUTDOWN") == b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
        (tmp_path / "dump.rdb").rmdir()
        assert client.send("SAVE") == b"+OK\r\n"
        assert client.send("XADD", "s", "*", "f", "v").startswith(b"$")
        assert not list(tmp_path.glob("temp-*"))


def test_a_closed_connection_is_closed_for_its_peer_while_a_child_runs(
    start: Start,
) -> None:
    server = start()
    with server.connect() as client, server.connect(timeout_seconds=5.0) as other:
        fill(client)
        number = other.send("CLIENT", "ID").decode().strip(":\r\n")
        child = stopped_child(server, client, "BGSAVE")
        # It may have been stopped before it could let go of what is not its own.
        until(lambda: goes_on_without_sockets(child))
        assert client.send("CLIENT", "KILL", "ID", number) == b":1\r\n"
        with pytest.raises(BrokenReply):
            other.read_reply()
        os.kill(child, signal.SIGCONT)


# -- the append-only file ----------------------------------------------------------------------


def test_a_rewrite_under_traffic_loses_nothing_of_what_was_acknowledged(start: Start) -> None:
    server = start("--appendonly", "yes", "--appendfsync", "always")
    acknowledged = 0
    with server.connect() as client:
        fill(client)
        for _ in range(2):
            client.send("BGREWRITEAOF")
            for _ in range(300):
                client.send("XADD", "s", "*", "n", str(acknowledged))
                acknowledged += 1
            until(lambda: idle(client))
        assert info(client)["aof_rewrites"] == "2"
        assert info(client)["aof_last_bgrewrite_status"] == "ok"
        client.send("BGREWRITEAOF")
    server.kill()  # in the middle of the third one
    server = start("--appendonly", "yes")
    with server.connect() as client:
        assert client.send("XLEN", "s") == b":%d\r\n" % acknowledged
        assert client.send("DBSIZE") == b":%d\r\n" % (MANY_KEYS + 1)


def test_a_rewrite_whose_child_is_killed_leaves_the_old_files_in_charge(
    start: Start, tmp_path: Path
) -> None:
    server = start("--appendonly", "yes", "--appendfsync", "always")
    with server.connect() as client:
        fill(client)
        child = stopped_child(server, client, "BGREWRITEAOF")
        client.send("SET", "during", "1")
        os.kill(child, signal.SIGKILL)
        until(lambda: idle(client))
        assert info(client)["aof_last_bgrewrite_status"] == "err"
        client.send("SET", "after", "1")
    server.kill()
    assert not list((tmp_path / "appendonlydir").glob("temp-*"))
    with start("--appendonly", "yes").connect() as client:
        assert client.send("EXISTS", "during", "after") == b":2\r\n"
        assert client.send("DBSIZE") == b":%d\r\n" % (MANY_KEYS + 2)


def test_writes_are_refused_while_the_file_cannot_grow(start: Start, tmp_path: Path) -> None:
    server = start("--appendonly", "yes")
    increment = tmp_path / "appendonlydir" / "appendonly.aof.1.incr.aof"
    with server.connect() as client:
        client.send("SET", "large", "x" * 100_000)
        client.send("SET", "k", "1")
        limit_file_size(server, increment.stat().st_size + 5)
        until(lambda: client.send("SET", "k", "2").startswith(b"-"))
        assert client.send("SET", "k", "3") == (
            b"-MISCONF Errors writing to the AOF file: File too large\r\n"
        )
        assert info(client)["aof_last_write_status"] == "err"
        limit_file_size(server, resource.RLIM_INFINITY)
        until(lambda: client.send("SET", "k", "4") == b"+OK\r\n")
        assert client.send("WAITAOF", "1", "0", "5000") == b"*2\r\n:1\r\n:0\r\n"
    server.kill()
    with start("--appendonly", "yes").connect() as client:
        assert client.send("GET", "k") == b"$1\r\n4\r\n"


def test_with_always_the_server_ends_rather_than_break_its_word(
    start: Start, tmp_path: Path
) -> None:
    server = start("--appendonly", "yes", "--appendfsync", "always")
    increment = tmp_path / "appendonlydir" / "appendonly.aof.1.incr.aof"
    with server.connect() as client:
        client.send("SET", "large", "x" * 100_000)
        client.send("SET", "k", "1")
        limit_file_size(server, increment.stat().st_size + 5)
        with pytest.raises(BrokenReply):
            client.send("SET", "k", "2")
    assert server.process.wait(DEADLINE_SECONDS) == 1
    assert "Can't recover from AOF write error" in server.output()
    with start("--appendonly", "yes").connect() as client:
        assert client.send("GET", "k") == b"$1\r\n1\r\n"


def test_waitaof_is_answered_after_the_sync_of_each_second(start: Start) -> None:
    with start("--appendonly", "yes").connect() as client:
        for number in range(2):
            client.send("SET", "k", str(number))
            assert client.send("WAITAOF", "1", "0", "5000") == b"*2\r\n:1\r\n:0\r\n"


# -- the end -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_with_a_snapshot_when_there_are_save_points(
    start: Start, number: signal.Signals
) -> None:
    server = start("--save", "3600 1")
    with server.connect() as client:
        client.send("SET", "k", "v")
    server.process.send_signal(number)
    assert server.process.wait(DEADLINE_SECONDS) == 0
    with start().connect() as client:
        assert client.send("GET", "k") == b"$1\r\nv\r\n"


@pytest.mark.parametrize(
    ("directives", "written"),
    [
        (("--save", "3600 1", "--shutdown-on-sigterm", "nosave"), False),
        (("--shutdown-on-sigterm", "save"), True),
        ((), False),
    ],
)
def test_what_a_signal_does_can_be_configured(
    start: Start, tmp_path: Path, directives: tuple[str, ...], written: bool
) -> None:
    server = start(*directives)
    with server.connect() as client:
        client.send("SET", "k", "v")
    assert server.stop() == 0
    assert (tmp_path / "dump.rdb").exists() == written


def test_a_signal_whose_snapshot_fails_leaves_the_server_running(
    start: Start, tmp_path: Path
) -> None:
    server = start("--save", "3600 1")
    (tmp_path / "dump.rdb").mkdir()
    with server.connect() as client:
        client.send("SET", "k", "v")
        server.process.terminate()
        until(lambda: "Errors trying to shut down" in server.output())
        assert client.send("GET", "k") == b"$1\r\nv\r\n"
        (tmp_path / "dump.rdb").rmdir()
    assert server.stop() == 0
    assert (tmp_path / "dump.rdb").exists()


def test_a_signal_on_a_full_disk_ends_a_server_whose_append_only_file_is_whole(
    start: Start, tmp_path: Path
) -> None:
    server = start("--save", "3600 1", "--appendonly", "yes")
    with server.connect() as client:
        for number in range(100):
            client.send("SET", f"k{number}", os.urandom(1000))
        value = client.send("GET", "k99")
    room_bytes = (tmp_path / "rillway.log").stat().st_size + 10_000  # for the log
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (room_bytes, -1))
    assert server.stop() == 0
    assert "Nothing is lost: the append-only file has all data." in server.output()
    assert not (tmp_path / "dump.rdb").exists()
    with start("--save", "3600 1", "--appendonly", "yes").connect() as client:
        assert client.send("GET", "k99") == value


def test_a_folder_that_was_never_writable_is_named_and_its_changes_are_lost(start: Start) -> None:
    server = start("--save", "3600 1", "--dir", "/proc")
    assert "Nothing can be saved: the folder /proc cannot be written" in server.output()
    with server.connect() as client:
        client.send("SET", "k", "v")
    assert server.stop() == 1
    assert "Lost, as /proc cannot be written: 1 changes" in server.output()


def test_a_second_sigint_ends_a_saving_server_and_leaves_no_partial_file(
    start: Start, tmp_path: Path
) -> None:
    server = start("--save", "3600 1000000")
    with server.connect() as client:
        fill(client)
        fields = [str(number) for number in range(40)]
        client.pipeline([("XADD", "s", "*", *fields) for _ in range(MANY_KEYS)])
    server.process.send_signal(signal.SIGINT)
    until(lambda: "Saving the final RDB snapshot" in server.output())
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(DEADLINE_SECONDS) == 1
    assert "You insist... exiting now." in server.output()
    assert [path.name for path in tmp_path.iterdir()] == ["rillway.log"]


def test_every_answered_write_is_on_disk_after_a_shutdown(start: Start) -> None:
    server = start("--appendonly", "yes", "--appendfsync", "always")
    with server.connect() as client, server.connect() as other:
        sent = other.write_all([("INCR", "n") for _ in range(50_000)])
        client.write_all([("SET", "k", "1"), ("SHUTDOWN",), ("SET", "k", "2")])
        answered = 0
        with contextlib.suppress(BrokenReply, OSError):
            while other.read_reply():
                answered += 1
    assert server.process.wait(DEADLINE_SECONDS) == 0
    assert 0 < answered < sent
    with start("--appendonly", "yes").connect() as client:
        assert client.send("GET", "k") == b"$1\r\n1\r\n"
        text = str(answered).encode()
        assert client.send("GET", "n") == b"$%d\r\n%b\r\n" % (len(text), text)


# -- one server in a folder ----------------------------------------------------------------------


@pytest.mark.parametrize("directives", [("--appendonly", "yes"), ("--save", "3600 1")])
def test_a_second_server_in_the_same_folder_does_not_start_and_names_the_first(
    start: Start, tmp_path: Path, directives: tuple[str, ...]
) -> None:
    first = start(*directives)
    with first.connect() as client:
        assert client.send("XADD", "s", "1-1", "f", "v") == b"$3\r\n1-1\r\n"
        second = run_rillway("serve", "--port", "0", "--dir", str(tmp_path), *directives)
        assert second.returncode == 1
        assert f"is in use by process {first.process.pid} on " in second.stdout
        assert f"port {first.port}" in second.stdout
        torn = tmp_path / "torn"
        torn.write_bytes(b"*1\r\n")
        fixed = run_rillway("check", "--fix", "--yes", str(torn))
        assert fixed.returncode == 2
        assert f"in use by process {first.process.pid} " in fixed.stderr
        assert client.send("XADD", "s", "2-1", "f", "v") == b"$3\r\n2-1\r\n"
    first.kill()  # whose lock ends with it
    with start(*directives).connect() as client:
        length = b":2\r\n" if "--appendonly" in directives else b":0\r\n"
        assert client.send("XLEN", "s") == length


def test_a_folder_is_free_as_soon_as_its_server_has_moved_on_or_ended(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    first = start("--save", "3600 1", "--enable-protected-configs", "yes")
    second = start_rillway(tmp_path / "other", "--save", "3600 1")
    with first.connect() as client:
        refused = client.send("CONFIG", "SET", "dir", str(tmp_path / "other"))
        assert f"in use by process {second.process.pid} ".encode() in refused
        second.stop()
        assert not (tmp_path / "other" / "rillway.lock").exists()
        assert client.send("CONFIG", "SET", "dir", str(tmp_path / "other")) == b"+OK\r\n"
        assert client.send("SAVE") == b"+OK\r\n"
    third = run_rillway("serve", "--port", "0", "--dir", str(tmp_path / "other"))
    assert f"is in use by process {first.process.pid} " in third.stdout


def test_the_volume_of_a_server_with_snapshots_only_is_taken_over_with_its_data(
    start: Start, tmp_path: Path
) -> None:
    before = start_redis(tmp_path)
    with before.connect() as client:
        for number in range(1, 201):
            client.send("XADD", "s", f"{number}-1", "f", "v")
        client.send("SAVE")
    before.stop()
    server = start("--appendonly", "yes", "--save", "3600 1")
    assert "it begins with the data of dump.rdb" in server.output()
    with server.connect() as client:
        assert client.send("XLEN", "s") == b":200\r\n"
    server.kill()
    (tmp_path / "dump.rdb").unlink()
    with start("--appendonly", "yes", "--save", "3600 1").connect() as client:
        assert client.send("XLEN", "s") == b":200\r\n"


def run_rillway(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    argv = [sys.executable, "-m", "rillway", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, timeout=30)
