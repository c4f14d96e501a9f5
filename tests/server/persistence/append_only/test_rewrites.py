"""Rewriting the append-only file, and switching it on and off."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from server.inprocess.memory_files import MemoryFiles, keep_everything
from server.inprocess.server import InProcessServer

OK = b"+OK\r\n"
STARTED = b"+Background append only file rewriting started\r\n"
SCHEDULED = b"+Background append only file rewriting scheduled\r\n"
TICK_MS = 100
MINUTE_MS = 60_000
DIRECTORY = "appendonlydir"


def run(server: InProcessServer, *words: str) -> bytes:
    return server.connect().execute(*words)


def state(server: InProcessServer) -> dict[str, str]:
    text = run(server, "INFO", "persistence").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def started(**directives: Any) -> InProcessServer:
    """A server with an append-only file and a key."""
    directives = {"appendonly": "yes", "appendfsync": "always", **directives}
    server = InProcessServer(**directives)
    assert run(server, "SET", "k", "1") == OK
    return server


def kept(server: InProcessServer, files: MemoryFiles | None = None) -> bytes:
    """What is at the key after a power failure."""
    again = InProcessServer.on_files(files or server.files.crash(), appendonly="yes")
    return run(again, "GET", "k")


def settle(server: InProcessServer) -> None:
    """Let the child be heard of, and history be removed."""
    for _ in range(3):
        server.advance(TICK_MS)


def names(server: InProcessServer) -> list[str]:
    return [path.removeprefix(f"{DIRECTORY}/") for path in server.files.snapshot()]


# -- one rewrite -------------------------------------------------------------------------------


@pytest.mark.parametrize(("preamble", "suffix"), [("yes", "rdb"), ("no", "aof")])
def test_a_rewrite_replaces_all_files_by_a_new_base(preamble: str, suffix: str) -> None:
    server = started(aof_use_rdb_preamble=preamble)
    for number in range(100):
        run(server, "SET", "k", str(number))
    assert run(server, "BGREWRITEAOF") == STARTED
    run(server, "SET", "k", "during")
    settle(server)
    assert names(server) == [
        f"appendonly.aof.2.base.{suffix}", "appendonly.aof.2.incr.aof", "appendonly.aof.manifest",
    ]  # fmt: skip
    assert kept(server) == b"$6\r\nduring\r\n"
    after = state(server)
    assert after["aof_last_bgrewrite_status"] == "ok"
    assert after["aof_rewrites"] == "1"
    assert after["aof_last_rewrite_time_sec"] == "0"
    assert int(after["aof_base_size"]) <= int(after["aof_current_size"]) < 300


def test_a_base_as_requests_says_what_the_snapshot_says() -> None:
    server = started(aof_use_rdb_preamble="no")
    run(server, "XADD", "s", "1-1", "f", "v")
    run(server, "XGROUP", "CREATE", "s", "g", "0")
    run(server, "XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    run(server, "PEXPIREAT", "s", "1800000000000")
    run(server, "BGREWRITEAOF")
    settle(server)
    again = InProcessServer.on_files(server.files.crash(), appendonly="yes")
    for words in (("XPENDING", "s", "g"), ("XRANGE", "s", "-", "+"), ("PEXPIRETIME", "s")):
        assert run(again, *words) == run(server, *words)


@pytest.mark.parametrize("at_byte", [0, 1, 80])
def test_a_child_that_is_killed_leaves_the_old_files_in_charge(at_byte: int) -> None:
    server = started()
    server.children.dies_at_byte = at_byte
    assert run(server, "BGREWRITEAOF") == STARTED
    run(server, "SET", "k", "during")
    settle(server)
    assert state(server)["aof_last_bgrewrite_status"] == "err"
    assert state(server)["aof_rewrites_consecutive_failures"] == "1"
    assert names(server) == [
        "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof", "appendonly.aof.2.incr.aof",
        "appendonly.aof.manifest",
    ]  # fmt: skip
    assert kept(server) == b"$6\r\nduring\r\n"
    assert run(server, "BGREWRITEAOF") == STARTED
    settle(server)
    assert state(server)["aof_last_bgrewrite_status"] == "ok"
    assert kept(server) == b"$6\r\nduring\r\n"


@pytest.mark.parametrize("at", range(1, 40))
def test_a_rewrite_that_fails_anywhere_loses_nothing(at: int) -> None:
    server = started()
    server.files.fail("any", errno.EIO, at=at)
    begun = run(server, "BGREWRITEAOF")
    # During `always` a failed sync of the file itself ends the server: let none meet the fault.
    settle(server)
    if begun == STARTED and not server.files.faults_left:
        assert state(server)["aof_rewrite_in_progress"] == "0"
    assert kept(server) == kept(server, server.files.crash(keep_everything)) == b"$1\r\n1\r\n"
    server.files.heal()
    assert run(server, "SET", "k", "later") == OK
    assert kept(server) == b"$5\r\nlater\r\n"
    assert run(server, "BGREWRITEAOF") == STARTED
    settle(server)
    assert state(server)["aof_last_bgrewrite_status"] == "ok"
    assert kept(server) == b"$5\r\nlater\r\n"


def test_without_another_process_there_is_no_rewrite() -> None:
    server = started()
    server.children.fails_to_start = OSError(errno.EAGAIN, "no more processes")
    assert run(server, "BGREWRITEAOF") == (
        b"-ERR Can't execute an AOF background rewriting. Please check the server logs for more"
        b" information.\r\n"
    )
    assert state(server)["aof_last_bgrewrite_status"] == "err"
    assert run(server, "SET", "k", "later") == OK
    assert kept(server) == b"$5\r\nlater\r\n"


def test_history_leaves_the_manifest_of_a_file_that_was_switched_off() -> None:
    server = started()
    run(server, "BGREWRITEAOF")
    while state(server)["aof_rewrite_in_progress"] == "1":
        server.advance(1)
    manifest = f"{DIRECTORY}/appendonly.aof.manifest"
    assert run(server, "CONFIG", "SET", "appendonly", "no") == OK
    assert b" type h" in server.files.snapshot()[manifest]
    settle(server)
    assert b" type h" not in server.files.snapshot()[manifest]


def test_a_rewrite_with_the_file_switched_off_makes_one_that_does_not_grow() -> None:
    server = InProcessServer()
    run(server, "SET", "k", "1")
    assert run(server, "BGREWRITEAOF") == STARTED
    assert state(server)["aof_enabled"] == "0"
    settle(server)
    run(server, "SET", "k", "later")
    assert kept(server) == b"$1\r\n1\r\n"
    assert state(server)["aof_enabled"] == "0"


# -- when one is due ---------------------------------------------------------------------------


def grown(server: InProcessServer, to_bytes: int) -> None:
    client = server.connect()
    while server.instance.persistence.current_bytes < to_bytes:
        client.execute("SET", "k", "x" * 100)


def test_a_file_that_has_grown_is_rewritten() -> None:
    server = started(auto_aof_rewrite_min_size="2000", auto_aof_rewrite_percentage="100")
    server.advance(TICK_MS)
    assert state(server)["aof_rewrites"] == "0"
    grown(server, 2001)
    server.advance(TICK_MS)
    assert state(server)["aof_rewrites"] == "1"
    settle(server)
    assert state(server)["aof_rewrites"] == "1"
    assert any("Starting automatic rewriting of AOF on" in line for _, line in server.log_lines)


@pytest.mark.parametrize(
    "directives", [{"auto_aof_rewrite_percentage": "0"}, {"auto_aof_rewrite_min_size": "1mb"}]
)
def test_a_file_is_not_rewritten_by_itself(directives: dict[str, Any]) -> None:
    server = started(**{"auto_aof_rewrite_min_size": "2000", **directives})
    grown(server, 4000)
    settle(server)
    assert state(server)["aof_rewrites"] == "0"


def test_growth_is_measured_from_the_last_base() -> None:
    server = started(auto_aof_rewrite_min_size="1", auto_aof_rewrite_percentage="100")
    run(server, "CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
    grown(server, 5000)
    run(server, "BGREWRITEAOF")
    settle(server)
    base = int(state(server)["aof_base_size"])
    run(server, "CONFIG", "SET", "auto-aof-rewrite-percentage", "1000")
    grown(server, base * 9)
    settle(server)
    assert state(server)["aof_rewrites"] == "1"
    grown(server, base * 11)
    settle(server)
    assert state(server)["aof_rewrites"] == "2"


def test_a_scheduled_rewrite_waits_for_the_other_child() -> None:
    server = started()
    server.children.is_held = True
    run(server, "BGSAVE")
    assert run(server, "BGREWRITEAOF") == SCHEDULED
    server.advance(TICK_MS)
    assert state(server)["aof_rewrite_scheduled"] == state(server)["aof_pending_rewrite"] == "1"
    server.children.is_held = False
    settle(server)
    assert state(server)["aof_rewrite_scheduled"] == "0"
    assert state(server)["aof_rewrites"] == "1"


def test_a_sync_that_has_failed_makes_a_rewrite() -> None:
    server = started(appendfsync="everysec")
    server.files.fail("sync", errno.EIO, at=1)
    server.advance(1000)
    run(server, "SET", "k", "later")
    server.advance(1000)
    settle(server)
    assert state(server)["aof_rewrites"] == "1"
    assert state(server)["aof_last_write_status"] == "ok"


def test_rewrites_that_fail_again_and_again_wait_longer_and_longer() -> None:
    server = started(auto_aof_rewrite_min_size="1")
    server.children.fails_to_start = OSError(errno.EAGAIN, "no more processes")
    grown(server, 5000)
    settle(server)
    assert state(server)["aof_rewrites_consecutive_failures"] == "3"
    for minutes, failures in ((1, 4), (2, 5), (4, 6)):
        server.advance(TICK_MS)
        line = f"triggered the limit, will retry in {minutes} minutes"
        assert line in server.log_lines[-1][1]
        server.advance(minutes * MINUTE_MS - TICK_MS)
        assert state(server)["aof_rewrites_consecutive_failures"] == str(failures - 1)
        server.advance(TICK_MS)
        assert state(server)["aof_rewrites_consecutive_failures"] == str(failures)
    server.children.fails_to_start = None
    assert run(server, "BGREWRITEAOF") == STARTED  # who asks does not wait
    settle(server)
    assert state(server)["aof_rewrites_consecutive_failures"] == "0"


@pytest.mark.parametrize("jump_ms", [-3_600_000, 7_200_000])
def test_a_clock_that_is_set_neither_prolongs_nor_ends_the_limit(jump_ms: int) -> None:
    server = started(auto_aof_rewrite_min_size="1")
    server.children.fails_to_start = OSError(errno.EAGAIN, "no more processes")
    grown(server, 5000)
    settle(server)
    server.advance(TICK_MS)
    server.now_ms += jump_ms
    server.advance(60_000 - 2 * TICK_MS)
    assert state(server)["aof_rewrites_consecutive_failures"] == "3"
    server.advance(2 * TICK_MS)
    server.advance(TICK_MS)
    assert state(server)["aof_rewrites_consecutive_failures"] == "4"


# -- switching on and off ----------------------------------------------------------------------


def test_a_file_that_is_switched_on_holds_what_was_there_before() -> None:
    server = InProcessServer(appendfsync="always")
    run(server, "SET", "k", "before")
    assert run(server, "CONFIG", "SET", "appendonly", "yes") == OK
    assert state(server)["aof_enabled"] == state(server)["aof_rewrite_in_progress"] == "1"
    run(server, "SET", "other", "during")
    settle(server)
    again = InProcessServer.on_files(server.files.crash(), appendonly="yes")
    assert run(again, "MGET", "k", "other") == b"*2\r\n$6\r\nbefore\r\n$6\r\nduring\r\n"
    run(server, "SET", "k", "after")
    assert kept(server) == b"$5\r\nafter\r\n"


def test_switching_on_waits_for_a_snapshot_that_is_being_saved(server: InProcessServer) -> None:
    server.children.is_held = True
    run(server, "BGSAVE")
    assert run(server, "CONFIG", "SET", "appendonly", "yes") == OK
    assert state(server)["aof_enabled"] == state(server)["aof_rewrite_scheduled"] == "1"
    server.children.is_held = False
    settle(server)
    assert state(server)["aof_rewrites"] == "1"


def test_switching_on_in_a_transaction_waits_for_its_end() -> None:
    server = InProcessServer(appendfsync="always")
    client = server.connect()
    client.pipeline(
        ("MULTI",), ("SET", "k", "1"), ("CONFIG", "SET", "appendonly", "yes"), ("SET", "k", "2"),
        ("EXEC",),
    )  # fmt: skip
    assert state(server)["aof_rewrite_scheduled"] == "1"
    settle(server)
    assert kept(server) == b"$1\r\n2\r\n"


@pytest.mark.parametrize("operation", ["make_directory", "create"])
def test_switching_on_is_refused_where_no_file_can_be_made(operation: str) -> None:
    server = InProcessServer()
    server.files.fail(operation, errno.EACCES)
    assert run(server, "CONFIG", "SET", "appendonly", "yes") == (
        b"-ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn on"
        b" AOF. Check server logs.\r\n"
    )
    assert run(server, "CONFIG", "GET", "appendonly") == b"*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"
    server.files.heal()
    settle(server)
    assert state(server)["aof_rewrites"] == state(server)["aof_enabled"] == "0"


def test_switching_on_is_tried_again_until_it_works() -> None:
    server = InProcessServer(appendfsync="always")
    run(server, "SET", "k", "1")
    server.children.dies_at_byte = 10
    run(server, "CONFIG", "SET", "appendonly", "yes")
    server.advance(TICK_MS)
    assert state(server)["aof_last_bgrewrite_status"] == "err"
    assert state(server)["aof_enabled"] == state(server)["aof_rewrite_scheduled"] == "1"
    settle(server)
    assert state(server)["aof_last_bgrewrite_status"] == "ok"
    assert kept(server) == b"$1\r\n1\r\n"


def test_switching_off_keeps_the_files_and_cancels_a_rewrite() -> None:
    server = started(appendfsync="no")
    server.children.is_held = True
    run(server, "BGREWRITEAOF")
    run(server, "SET", "k", "during")
    assert run(server, "CONFIG", "SET", "appendonly", "no") == OK
    after = state(server)
    assert after["aof_enabled"] == after["aof_rewrite_in_progress"] == "0"
    assert after["aof_last_bgrewrite_status"] == "ok"
    run(server, "SET", "k", "after")
    assert kept(server) == b"$6\r\nduring\r\n"


def test_switching_off_while_it_is_being_switched_on(server: InProcessServer) -> None:
    server.children.is_held = True
    run(server, "CONFIG", "SET", "appendonly", "yes")
    run(server, "CONFIG", "SET", "appendonly", "no")
    server.children.is_held = False
    settle(server)
    assert state(server)["aof_rewrite_in_progress"] == state(server)["aof_rewrite_scheduled"] == "0"
    assert server.files.snapshot() == {}


def test_a_rewrite_asked_for_while_off_becomes_the_first_base_when_it_is_switched_on() -> None:
    server = InProcessServer(appendfsync="always")
    run(server, "SET", "k", "1")
    server.children.is_held = True
    run(server, "BGREWRITEAOF")
    assert run(server, "CONFIG", "SET", "appendonly", "yes") == OK
    server.children.is_held = False
    settle(server)
    run(server, "SET", "k", "after")
    assert kept(server) == b"$5\r\nafter\r\n"
    assert state(server)["aof_rewrites"] == "1"
