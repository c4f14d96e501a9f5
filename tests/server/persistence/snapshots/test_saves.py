"""server/persistence/snapshots/saves.py: when snapshots are written, and what a failure leaves."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from server.inprocess.memory_files import MemoryFiles, keep_everything
from server.inprocess.server import InProcessServer
from server.persistence.children import Ending

OK = b"+OK\r\n"
STARTED = b"+Background saving started\r\n"
FAILED = b"-ERR\r\n"
TICK_MS = 100
OPERATIONS_OF_A_SAVE = 6  # create, two writes, sync, rename, sync of the directory


def with_key(value: str = "1", **directives: Any) -> InProcessServer:
    server = InProcessServer(**directives)
    assert server.connect().execute("SET", "k", value) == OK
    return server


def run(server: InProcessServer, *words: str) -> bytes:
    return server.connect().execute(*words)


def kept(files: MemoryFiles) -> bytes:
    """What a start from these files has at the key."""
    return run(InProcessServer.on_files(files), "GET", "k")


def state(server: InProcessServer) -> dict[str, str]:
    text = run(server, "INFO", "persistence").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


# -- in the foreground -------------------------------------------------------------------------


def test_saved_data_survives_a_power_failure() -> None:
    server = with_key()
    assert run(server, "SAVE") == OK
    assert kept(server.files.crash()) == b"$1\r\n1\r\n"
    assert sorted(server.files.snapshot()) == ["dump.rdb"]


def test_a_snapshot_goes_where_the_configuration_says() -> None:
    server = with_key(dbfilename="other.rdb")
    run(server, "SAVE")
    assert sorted(server.files.snapshot()) == ["other.rdb"]


def test_a_save_resets_the_count_of_changes_and_records_its_time() -> None:
    server = with_key()
    server.advance(5000)
    assert state(server)["rdb_changes_since_last_save"] == "1"
    run(server, "SAVE")
    after = state(server)
    assert after["rdb_changes_since_last_save"] == "0"
    assert after["rdb_last_save_time"] == str(server.now_ms // 1000)
    assert after["rdb_saves"] == "1"
    assert after["rdb_last_bgsave_status"] == "ok"


@pytest.mark.parametrize("at", range(1, OPERATIONS_OF_A_SAVE + 1))
def test_a_save_that_fails_anywhere_leaves_one_whole_snapshot(at: int) -> None:
    server = with_key("old", rdbcompression="no")
    run(server, "SAVE")
    run(server, "SET", "k", "new")
    server.files.fail("any", errno.EIO, at=at)
    assert run(server, "SAVE") == FAILED
    assert server.files.faults_left == 0
    assert state(server)["rdb_changes_since_last_save"] == "1"
    errors = [line for _, line in server.log_lines if line.startswith("Write error saving DB")]
    assert errors
    assert errors[0].endswith("(in .)")
    assert kept(server.files.crash()) == b"$3\r\nold\r\n"
    assert kept(server.files.crash(keep_everything)) in (b"$3\r\nold\r\n", b"$3\r\nnew\r\n")
    assert sorted(server.files.snapshot()) == ["dump.rdb"]
    assert run(server, "SAVE") == OK
    assert kept(server.files.crash()) == b"$3\r\nnew\r\n"


def test_the_test_above_lets_every_operation_fail() -> None:
    server = with_key("old", rdbcompression="no")
    before = server.files.calls["any"]
    run(server, "SAVE")
    assert server.files.calls["any"] - before == OPERATIONS_OF_A_SAVE


def test_a_full_disk_is_refused_and_later_not() -> None:
    server = with_key()
    server.files.free_bytes = 20
    assert run(server, "SAVE") == FAILED
    assert server.files.snapshot() == {}
    server.files.heal()
    assert run(server, "SAVE") == OK


def test_syncing_a_long_file_begins_on_the_way() -> None:
    counts = []
    for incremental in ("yes", "no"):
        server = with_key(rdbcompression="no", rdb_save_incremental_fsync=incremental)
        for number in range(9):
            run(server, "SET", f"k{number}", "x" * (1 << 20))
        run(server, "SAVE")
        counts.append(server.files.calls["begin_sync"])
    assert counts == [2, 0]


@pytest.mark.parametrize(
    ("directives", "expected"),
    [
        ({}, b"REDIS0011"),
        ({"rdb_stream_type": "19"}, b"REDIS0010"),
        ({"rdb_stream_type": "15"}, b"REDIS0009"),
        ({"rdb_stream_type": "valkey"}, b"REDIS0011"),
    ],
)
def test_the_form_of_streams_can_be_chosen(directives: dict[str, Any], expected: bytes) -> None:
    server = InProcessServer(**directives)
    run(server, "XADD", "s", "1-1", "f", "v")
    run(server, "SAVE")
    assert server.files.snapshot()["dump.rdb"][:9] == expected
    assert run(server.restart(), "XLEN", "s") == b":1\r\n"


def test_hashes_with_times_of_fields_are_written_in_the_form_of_valkey() -> None:
    server = InProcessServer(rdb_stream_type="valkey")
    run(server, "HSETEX", "h", "PXAT", "4102444800000", "FIELDS", "1", "f", "v")
    run(server, "SAVE")
    assert server.files.snapshot()["dump.rdb"][:9] == b"VALKEY080"
    assert run(server.restart(), "HPEXPIRETIME", "h", "FIELDS", "1", "f").endswith(
        b":4102444800000\r\n"
    )


def test_compression_and_checksum_can_be_left_out() -> None:
    server = with_key("x" * 1000, rdbcompression="no", rdbchecksum="no")
    run(server, "SAVE")
    data = server.files.snapshot()["dump.rdb"]
    assert b"x" * 1000 in data
    assert data.endswith(b"\xff" + bytes(8))


# -- in the background -------------------------------------------------------------------------


def test_what_changes_while_a_child_saves_counts_as_unsaved() -> None:
    server = with_key()
    server.children.is_held = True
    assert run(server, "BGSAVE") == STARTED
    run(server, "INCRBY", "k", "5")
    assert state(server)["rdb_bgsave_in_progress"] == "1"
    assert state(server)["rdb_changes_since_last_save"] == "2"
    server.advance(3000)
    assert state(server)["rdb_current_bgsave_time_sec"] == "3"
    server.children.is_held = False
    server.advance(TICK_MS)
    after = state(server)
    assert after["rdb_bgsave_in_progress"] == "0"
    assert after["rdb_changes_since_last_save"] == "1"
    assert after["rdb_last_bgsave_status"] == "ok"
    assert after["rdb_last_bgsave_time_sec"] == "3"
    assert after["rdb_current_bgsave_time_sec"] == "-1"
    assert after["rdb_last_save_time"] == str(server.now_ms // 1000)
    assert kept(server.files.crash()) == b"$1\r\n1\r\n"


def test_a_child_reports_its_progress() -> None:
    server = with_key()
    server.children.is_held = True
    run(server, "BGSAVE")
    server.advance(TICK_MS)
    during = state(server)
    assert during["current_save_keys_processed"] == during["current_save_keys_total"] == "1"
    assert during["current_fork_perc"] == "100.00"
    assert during["current_cow_size"] == during["current_cow_peak"] == "4096"
    server.children.is_held = False
    server.advance(TICK_MS)
    after = state(server)
    assert after["rdb_last_cow_size"] == "4096"
    assert after["current_save_keys_total"] == after["current_cow_size"] == "0"


@pytest.mark.parametrize("at_byte", [0, 1, 50, 90])
def test_a_child_that_is_killed_leaves_the_old_snapshot(at_byte: int) -> None:
    server = with_key("old")
    run(server, "SAVE")
    run(server, "SET", "k", "new")
    server.children.dies_at_byte = at_byte
    assert run(server, "BGSAVE") == STARTED
    server.advance(TICK_MS)
    assert state(server)["rdb_last_bgsave_status"] == "err"
    assert state(server)["rdb_changes_since_last_save"] == "1"
    assert sorted(server.files.snapshot()) == ["dump.rdb"]
    assert kept(server.files.crash()) == b"$3\r\nold\r\n"
    assert any("Background saving terminated by signal 9" in line for _, line in server.log_lines)


@pytest.mark.parametrize("at", range(1, OPERATIONS_OF_A_SAVE + 1))
def test_a_child_that_fails_anywhere_leaves_one_whole_snapshot(at: int) -> None:
    server = with_key("old", rdbcompression="no")
    run(server, "SAVE")
    run(server, "SET", "k", "new")
    server.files.fail("any", errno.ENOSPC, at=at)
    assert run(server, "BGSAVE") == STARTED
    server.advance(TICK_MS)
    assert state(server)["rdb_last_bgsave_status"] == "err"
    assert sorted(server.files.snapshot()) == ["dump.rdb"]
    assert kept(server.files.crash()) == b"$3\r\nold\r\n"


def test_without_another_process_there_is_no_snapshot() -> None:
    server = with_key()
    server.children.fails_to_start = OSError(errno.EAGAIN, "no more processes")
    assert run(server, "BGSAVE") == FAILED
    assert state(server)["rdb_last_bgsave_status"] == "err"
    assert state(server)["rdb_bgsave_in_progress"] == "0"
    assert ("warning", "Can't save in background: fork: no more processes") in server.log_lines
    assert state(server)["rdb_saves_consecutive_failures"] == "1"
    server.children.fails_to_start = None
    assert run(server, "BGSAVE") == STARTED
    server.advance(TICK_MS)
    assert state(server)["rdb_last_bgsave_status"] == "ok"
    assert state(server)["rdb_saves_consecutive_failures"] == "0"


def test_a_child_without_a_server_puts_nothing_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    server = with_key("old")
    run(server, "SAVE")
    run(server, "SET", "k", "new")
    monkeypatch.setattr("server.inprocess.children.InProcessChild.has_server", no)
    run(server, "BGSAVE")
    assert kept(server.files.crash()) == b"$3\r\nold\r\n"
    assert sorted(server.files.snapshot()) == ["dump.rdb"]


def no(child: object) -> bool:
    return False


# -- save points -------------------------------------------------------------------------------


def changed(server: InProcessServer, times: int) -> None:
    client = server.connect()
    client.pipeline(*[("INCR", "n")] * times)


def test_a_save_point_needs_its_changes_and_its_time() -> None:
    server = InProcessServer(save="60 3")
    changed(server, 2)
    server.advance(61_000)
    assert state(server)["rdb_saves"] == "0"
    changed(server, 1)
    server.advance(TICK_MS)
    assert state(server)["rdb_bgsave_in_progress"] == "1"
    assert ("notice", "3 changes in 60 seconds. Saving...") in server.log_lines
    server.advance(TICK_MS)
    assert state(server)["rdb_changes_since_last_save"] == "0"
    changed(server, 3)
    server.advance(60_000)
    assert state(server)["rdb_saves"] == "1"  # more than the seconds of the save point, as in Redis
    server.advance(1000)
    assert state(server)["rdb_saves"] == "2"


def test_several_save_points_are_looked_at() -> None:
    server = InProcessServer(save="3600 1 60 3")
    changed(server, 3)
    server.advance(61_000)
    assert state(server)["rdb_saves"] == "1"


def test_after_a_failure_the_next_attempt_waits_for_five_seconds() -> None:
    server = InProcessServer(save="1 1")
    changed(server, 1)
    server.files.fail("create", errno.ENOSPC)
    server.advance(2000)
    assert state(server)["rdb_saves"] == "1"
    server.advance(5000)
    assert state(server)["rdb_last_bgsave_status"] == "err"
    assert state(server)["rdb_saves"] == "1"
    server.advance(1000)
    assert state(server)["rdb_saves"] == "2"


@pytest.mark.parametrize("jump_ms", [-3_600_000, 7_200_000])
def test_a_clock_that_is_set_neither_puts_snapshots_off_nor_starts_one(jump_ms: int) -> None:
    server = InProcessServer(save="60 1")
    changed(server, 1)
    server.now_ms += jump_ms
    server.advance(59_000)
    assert state(server)["rdb_saves"] == "0"
    server.advance(2_000)
    assert state(server)["rdb_saves"] == "1"
    server.advance(TICK_MS)
    assert state(server)["rdb_last_save_time"] == str(server.now_ms // 1000)


def test_no_save_point_no_snapshot(server: InProcessServer) -> None:
    changed(server, 100_000)
    server.advance(10**9)
    assert state(server)["rdb_saves"] == "0"


def test_a_scheduled_snapshot_waits_for_the_other_child() -> None:
    server = with_key(appendonly="yes")
    server.children.is_held = True
    run(server, "BGREWRITEAOF")
    assert run(server, "BGSAVE", "SCHEDULE") == b"+Background saving scheduled\r\n"
    server.advance(TICK_MS)
    assert state(server)["rdb_bgsave_in_progress"] == "0"
    server.children.is_held = False
    server.advance(TICK_MS)
    assert state(server)["aof_rewrite_in_progress"] == "0"
    assert state(server)["rdb_bgsave_in_progress"] == "1"
    server.advance(TICK_MS)
    server.advance(TICK_MS)
    assert state(server)["rdb_saves"] == "1"


# -- what is left over -------------------------------------------------------------------------


def test_a_start_removes_the_temporary_files_of_ended_processes() -> None:
    files = MemoryFiles()
    running, own = f"temp-{os.getppid()}.rdb", f"temp-{os.getpid()}.rdb"
    names = ("temp-repl-999999999-3.rdb", "temp-link-999999999.rdb")
    for name in (*names, "temp-999999999.rdb", own, running, "temp-a.rdb", "mytemp-999999999.rdb"):
        files.put(name, b"x")
    InProcessServer.on_files(files)
    assert sorted(files.snapshot()) == sorted([running, "mytemp-999999999.rdb", "temp-a.rdb"])


# -- FLUSHALL ----------------------------------------------------------------------------------


def test_flushall_calls_a_snapshot_off_and_makes_one_of_nothing() -> None:
    server = with_key(save="3600 1000")
    server.children.is_held = True
    run(server, "BGSAVE")
    assert run(server, "FLUSHALL") == OK
    after = state(server)
    assert after["rdb_bgsave_in_progress"] == "0"
    assert after["rdb_last_bgsave_status"] == "ok"
    assert kept(server.files.crash()) == b"$-1\r\n"


def test_flushall_writes_nothing_without_save_points() -> None:
    server = with_key()
    run(server, "FLUSHALL")
    assert server.files.snapshot() == {}


def test_a_reload_calls_off_the_child_that_saves_what_was_there_before() -> None:
    server = with_key("1", enable_debug_command="yes")
    server.children.is_held = True
    assert run(server, "BGSAVE") == STARTED
    run(server, "SET", "k", "2")
    assert run(server, "DEBUG", "RELOAD") == OK
    assert not server.instance.persistence.save_in_progress
    server.children.is_held = False
    server.advance(TICK_MS)
    assert kept(server.files.crash()) == b"$1\r\n2\r\n"


def test_a_snapshot_never_takes_more_changes_into_account_than_there_are() -> None:
    server = with_key(enable_debug_command="yes")
    run(server, "SAVE")
    run(server, "SET", "k", "2")
    server.children.is_held = True
    assert run(server, "BGSAVE") == STARTED
    assert run(server, "DEBUG", "RELOAD", "NOSAVE") == OK
    server.children.is_held = False
    server.advance(TICK_MS)
    assert state(server)["rdb_changes_since_last_save"] == "0"


def test_a_failed_child_leaves_no_files() -> None:
    server = with_key()
    server.files.put("temp-1000.rdb", b"what it has written so far")
    server.children._ending = Ending(1000, error="a defect of ours")
    server.instance.persistence.save_in_progress = True
    server.advance(TICK_MS)
    assert state(server)["rdb_last_bgsave_status"] == "err"
    assert "temp-1000.rdb" not in server.files.snapshot()


@pytest.mark.parametrize(("delay_us", "passed_ms"), [("100000", 300), ("-3", 0), ("0", 0)])
def test_a_delay_for_each_key_makes_a_save_longer(delay_us: str, passed_ms: int) -> None:
    server = with_key(rdb_key_save_delay=delay_us)
    run(server, "MSET", "k2", "v", "k3", "v")
    before_ms = server.now_ms
    assert run(server, "SAVE") == OK
    assert server.now_ms - before_ms == passed_ms


def test_directives_for_tests_are_shown_by_their_whole_names_only() -> None:
    server = with_key()
    assert run(server, "CONFIG", "GET", "*key*delay") == b"*0\r\n"
    reply = run(server, "CONFIG", "GET", "rdb-key-save-delay", "key-load-delay")
    assert (
        reply
        == b"*4\r\n$18\r\nrdb-key-save-delay\r\n$1\r\n0\r\n$14\r\nkey-load-delay\r\n$1\r\n0\r\n"
    )
