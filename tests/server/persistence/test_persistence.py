"""server/persistence/persistence.py: restarts, refused writes, shutdown."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer, ServerDied
from server.persistence.files import FolderInUse
from server.persistence.loading.loader import LoadFailed

OK = b"+OK\r\n"
TICK_MS = 100
MISCONF = b"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to"
MISCONF_FILE = b"-MISCONF Errors writing to the AOF file: No space left on device\r\n"
REFUSED = b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"


def run(server: InProcessServer, *words: str) -> bytes:
    return server.connect().execute(*words)


def tick(server: InProcessServer) -> None:
    server.advance(TICK_MS)


def said(server: InProcessServer, text: str) -> bool:
    return any(text in line for _, line in server.log_lines)


# -- restarts ----------------------------------------------------------------------------------


def test_without_files_nothing_is_kept(server: InProcessServer) -> None:
    run(server, "SET", "k", "v")
    assert run(server.restart(), "GET", "k") == b"$-1\r\n"


def test_with_always_a_reply_in_hand_means_on_disk() -> None:
    server = InProcessServer(appendonly="yes", appendfsync="always")
    client = server.connect()
    assert client.pipeline(("SET", "k", "1"), ("SET", "k", "2")) == OK + OK
    assert run(server.restart(server.files.crash()), "GET", "k") == b"$1\r\n2\r\n"


def test_with_everysec_what_was_synced_survives_a_power_failure_and_the_rest_a_kill() -> None:
    server = InProcessServer(appendonly="yes")
    run(server, "SET", "k", "1")
    server.advance(1000)
    tick(server)
    run(server, "SET", "k", "2")
    assert run(server.restart(), "GET", "k") == b"$1\r\n2\r\n"
    assert run(server.restart(server.files.crash()), "GET", "k") == b"$1\r\n1\r\n"


def test_a_group_is_after_a_restart_what_it_was_before() -> None:
    server = InProcessServer(appendonly="yes", appendfsync="always")
    for request in (
        "XADD s 1-1 f v",
        "XADD s 2-1 f v",
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g alice STREAMS s >",
        "XACK s g 1-1",
    ):
        assert not run(server, *request.split()).startswith(b"-")
    again = server.restart(server.files.crash())
    for request in ("XPENDING s g - + 9", "XINFO GROUPS s"):
        assert run(again, *request.split()) == run(server, *request.split())


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_the_append_only_file_begins_with_the_data_of_an_existing_snapshot(preamble: str) -> None:
    before = InProcessServer(save="3600 1")
    for request in ("XADD s 1-1 f v", "XGROUP CREATE s g 0", "SET k v", "SAVE", "DEL k"):
        run(before, *request.split())
    files = before.files.crash()
    how: Any = {"save": "3600 1", "aof_use_rdb_preamble": preamble, "appendfsync": "always"}
    server = InProcessServer.on_files(files, appendonly="yes", **how)
    assert run(server, "GET", "k") == b"$1\r\nv\r\n"
    run(server, "XADD", "s", "2-1", "f", "v")
    # Neither the next snapshot nor what happens to the old one can take the data away.
    files = server.files.crash()
    files.remove("dump.rdb")
    again = InProcessServer.on_files(files, appendonly="yes", **how)
    assert run(again, "DBSIZE") == b":2\r\n"
    assert run(again, "XLEN", "s") == b":2\r\n"
    assert b"1-1" in run(again, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "make_directory"])
def test_where_the_append_only_file_cannot_begin_nothing_is_lost(operation: str) -> None:
    before = InProcessServer(save="3600 1")
    run(before, "SET", "k", "v")
    run(before, "SAVE")
    files = before.files.crash()
    files.fail(operation, errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        InProcessServer.on_files(files, appendonly="yes", save="3600 1")
    again = InProcessServer.on_files(files.crash(), appendonly="yes", save="3600 1")
    assert run(again, "GET", "k") == b"$1\r\nv\r\n"


def test_a_file_that_cannot_be_loaded_stops_the_start() -> None:
    files = MemoryFiles()
    files.put("dump.rdb", b"REDIS0011 is not what follows")
    with pytest.raises(LoadFailed):
        InProcessServer.on_files(files)


def test_an_append_only_file_switched_on_while_the_data_was_loaded_begins_with_that_data() -> None:
    first = InProcessServer(appendonly="yes", appendfsync="always")
    run(first, "SET", "k", "stale")
    second = InProcessServer()
    run(second, "SET", "k", "fresh")
    run(second, "SAVE")
    files = first.files.crash()
    files.put("dump.rdb", second.files.snapshot()["dump.rdb"])

    server = InProcessServer.on_files(files, appendfsync="always")
    persistence = server.persistence
    server.instance.databases[0].clear()
    for _ in persistence.load():
        pass
    persistence._is_open = False
    run(server, "CONFIG", "SET", "appendonly", "yes")
    assert not server.instance.persistence.rewrite_in_progress
    persistence.open()
    assert server.instance.persistence.rewrite_in_progress
    tick(server)
    again = InProcessServer.on_files(server.files.crash(), appendonly="yes")
    assert run(again, "GET", "k") == b"$5\r\nfresh\r\n"


def test_switching_on_during_loading_is_retried_until_it_succeeds() -> None:
    server = InProcessServer()
    run(server, "SET", "k", "1")
    persistence = server.persistence
    persistence._is_open = False  # as if the data was being loaded
    run(server, "CONFIG", "SET", "appendonly", "yes")
    server.children.fails_to_start = OSError(errno.EAGAIN, "no more processes")
    persistence.open()
    server.children.fails_to_start = None
    tick(server)
    tick(server)
    server = InProcessServer.on_files(server.files.crash(), appendonly="yes")
    assert run(server, "GET", "k") == b"$1\r\n1\r\n"


def test_a_server_that_can_load_its_append_only_file_in_part_only_ends() -> None:
    server = InProcessServer(appendonly="yes")
    run(server, "SET", "a", "1")
    (path,) = (name for name in server.files.snapshot() if name.endswith(".incr.aof"))
    server.files.put(path, server.files.snapshot()[path] + b"no request\r\n")
    with pytest.raises(ServerDied, match="Bad file format"):
        server.persistence.reload_append_only_file()


# -- refusing writes ---------------------------------------------------------------------------


def with_failing_disk(**directives: Any) -> InProcessServer:
    """A server whose last snapshot in the background has failed."""
    server = InProcessServer(**directives)
    server.files.fail("create", errno.ENOSPC)
    run(server, "BGSAVE")
    tick(server)
    return server


def test_writes_are_refused_after_a_snapshot_has_failed_and_reads_are_not() -> None:
    server = with_failing_disk(save="3600 1")
    assert run(server, "SET", "k", "v").startswith(MISCONF)
    assert run(server, "XADD", "s", "*", "f", "v").startswith(MISCONF)
    assert run(server, "PING").startswith(MISCONF)
    assert run(server, "GET", "k") == b"$-1\r\n"
    assert run(server, "EXISTS", "s") == b":0\r\n"


@pytest.mark.parametrize(
    "way_out",
    [
        ("CONFIG", "SET", "stop-writes-on-bgsave-error", "no"),
        ("CONFIG", "SET", "save", ""),
        ("SAVE",),
    ],
)
def test_writes_run_again_at_once_when_the_error_is_solved(way_out: tuple[str, ...]) -> None:
    server = with_failing_disk(save="3600 1")
    assert run(server, "SET", "k", "v").startswith(MISCONF)
    server.files.heal()
    assert run(server, *way_out) == OK
    assert run(server, "SET", "k", "v") == OK


def test_writes_run_again_when_a_later_snapshot_succeeds() -> None:
    server = with_failing_disk(save="3600 1")
    server.files.heal()
    run(server, "BGSAVE")
    assert run(server, "SET", "k", "v").startswith(MISCONF)
    tick(server)
    assert run(server, "SET", "k", "v") == OK


@pytest.mark.parametrize(
    "directives", [{}, {"save": "3600 1", "stop_writes_on_bgsave_error": "no"}]
)
def test_writes_are_not_refused_by_whom_snapshots_do_not_matter_to(
    directives: dict[str, Any],
) -> None:
    assert run(with_failing_disk(**directives), "SET", "k", "v") == OK


def test_writes_are_refused_while_the_append_only_file_cannot_be_written() -> None:
    server = InProcessServer(appendonly="yes")
    server.files.free_bytes = 0
    assert run(server, "SET", "k", "1") == OK
    assert run(server, "SET", "k", "2") == MISCONF_FILE
    server.files.heal()
    server.advance(1000)
    assert run(server, "SET", "k", "3") == OK
    tick(server)
    assert run(server.restart(), "GET", "k") == b"$1\r\n3\r\n"


def test_a_failed_snapshot_is_reported_before_other_reasons() -> None:
    server = with_failing_disk(save="3600 1", appendonly="yes", stop_writes_on_bgsave_error="no")
    server.files.heal()
    server.files.free_bytes = 0
    run(server, "SET", "k", "1")
    assert run(server, "SET", "k", "2") == MISCONF_FILE
    run(server, "CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
    assert run(server, "SET", "k", "2").startswith(MISCONF)
    run(server, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
    assert run(server, "SET", "k", "2") == MISCONF_FILE


# -- the end -----------------------------------------------------------------------------------


def test_the_end_writes_a_snapshot_when_there_are_save_points() -> None:
    server = InProcessServer(save="3600 1")
    run(server, "SET", "k", "v")
    assert run(server, "SHUTDOWN") == b""
    assert server.shutdown_requested
    assert run(server.restart(server.files.crash()), "GET", "k") == b"$1\r\nv\r\n"


@pytest.mark.parametrize(
    ("save", "option", "written"),
    [("", "SAVE", True), ("", "NOW", False), ("3600 1", "NOSAVE", False), ("3600 1", "NOW", True)],
)
def test_what_the_client_says_comes_before_the_save_points(
    save: str, option: str, written: bool
) -> None:
    server = InProcessServer(save=save)
    run(server, "SHUTDOWN", option)
    assert ("dump.rdb" in server.files.snapshot()) == written


def test_the_end_brings_the_append_only_file_to_disk() -> None:
    server = InProcessServer(appendonly="yes", appendfsync="no")
    run(server, "SET", "k", "v")
    run(server, "SHUTDOWN")
    assert run(server.restart(server.files.crash()), "GET", "k") == b"$1\r\nv\r\n"


def test_a_snapshot_that_fails_keeps_the_server_alive() -> None:
    server = InProcessServer(save="3600 1", appendonly="yes", appendfsync="always")
    server.files.fail("create", errno.ENOSPC)
    assert run(server, "SHUTDOWN") == REFUSED
    assert not server.shutdown_requested
    assert said(server, "Error trying to save the DB, can't exit.")
    assert server.supervisor_states == [
        "STOPPING=1",
        "STATUS=Saving the final RDB snapshot",
        "STATUS=Error trying to save the DB, can't exit.",
    ]
    assert run(server, "SET", "k", "v") == OK  # SAVE is no snapshot in the background
    assert run(server.restart(server.files.crash()), "GET", "k") == b"$1\r\nv\r\n"
    server.files.heal()
    assert run(server, "SHUTDOWN") == b""
    assert server.shutdown_requested


def test_force_ends_it_all_the_same() -> None:
    server = InProcessServer(save="3600 1")
    server.files.fail("create", errno.ENOSPC)
    assert run(server, "SHUTDOWN", "FORCE") == b""
    assert server.shutdown_requested


@pytest.mark.parametrize("command", ["BGSAVE", "BGREWRITEAOF"])
def test_the_end_calls_a_child_off(command: str) -> None:
    server = InProcessServer(appendonly="yes", appendfsync="always")
    run(server, "SET", "k", "v")
    server.children.is_held = True
    run(server, command)
    assert run(server, "SHUTDOWN") == b""
    assert said(server, "There is a child")
    state = server.instance.persistence
    assert not state.save_in_progress
    assert not state.rewrite_in_progress
    assert run(server.restart(server.files.crash()), "GET", "k") == b"$1\r\nv\r\n"


def test_while_the_first_base_is_written_there_is_no_end_without_force() -> None:
    server = InProcessServer()
    server.children.is_held = True
    run(server, "CONFIG", "SET", "appendonly", "yes")
    assert run(server, "SHUTDOWN") == REFUSED
    assert said(server, "Writing initial AOF, can't exit.")
    assert server.supervisor_states[-1] == "STATUS=Writing initial AOF, can't exit."
    assert run(server, "SHUTDOWN", "FORCE") == b""


def test_what_was_loaded_in_part_replaces_nothing() -> None:
    server = InProcessServer(save="3600 1")
    server.persistence._is_open = False
    server.instance.set_loading(True)
    assert run(server, "SHUTDOWN", "SAVE") == b""
    assert server.files.snapshot() == {}


# -- DEBUG -------------------------------------------------------------------------------------


def test_debug_reload_that_cannot_save_changes_nothing() -> None:
    server = InProcessServer(enable_debug_command="yes")
    run(server, "SET", "k", "v")
    server.files.fail("create", errno.ENOSPC)
    assert run(server, "DEBUG", "RELOAD") == b"-ERR\r\n"
    assert run(server, "GET", "k") == b"$1\r\nv\r\n"


def test_debug_reload_of_a_damaged_file_is_an_error() -> None:
    server = InProcessServer(enable_debug_command="yes")
    server.files.put("dump.rdb", b"REDIS0011 is not what follows")
    assert run(server, "DEBUG", "RELOAD", "NOSAVE") == (
        b"-ERR Error trying to load the RDB dump, check server logs.\r\n"
    )


# -- one server in a folder --------------------------------------------------------------------

IN_USE = FolderInUse("/data", "process 7 on elsewhere, port 6379")


def in_use() -> MemoryFiles:
    files = MemoryFiles()
    files.claim_error = IN_USE
    return files


@pytest.mark.parametrize("directives", [{"appendonly": "yes"}, {"save": "3600 1"}])
def test_a_folder_that_another_server_writes_into_stops_the_start(
    directives: Any,
) -> None:
    files = in_use()
    with pytest.raises(LoadFailed, match="in use by process 7 on elsewhere, port 6379") as stopped:
        InProcessServer.on_files(files, **directives)
    assert "--dir" in str(stopped.value)
    assert files.calls["any"] == 0


def test_a_server_that_writes_nothing_shares_its_folder_until_it_writes() -> None:
    server = InProcessServer.on_files(in_use())
    assert run(server, "SET", "k", "v") == OK
    text = b"process 7 on elsewhere, port 6379\r\n"
    for directive, value in (("appendonly", "yes"), ("save", "3600 1")):
        reply = run(server, "CONFIG", "SET", directive, value)
        assert reply.startswith(b"-ERR CONFIG SET failed")
        assert reply.endswith(text)
        assert value.encode() not in run(server, "CONFIG", "GET", directive)
    for command in (["SAVE"], ["BGSAVE"], ["BGREWRITEAOF"], ["SHUTDOWN", "SAVE"]):
        assert run(server, *command).startswith(b"-ERR")
    assert server.files.snapshot() == {}
    assert said(server, "process 7 on elsewhere, port 6379")


def test_the_folder_is_claimed_when_something_is_to_be_written() -> None:
    assert InProcessServer(appendonly="yes").files.claimed == ["."]
    assert InProcessServer(save="3600 1").files.claimed == ["."]
    server = InProcessServer()
    assert server.files.claimed == []
    run(server, "SAVE")
    assert server.files.claimed == ["."]


def test_a_file_system_without_locks_is_warned_of() -> None:
    files = MemoryFiles()
    files.claim_error = OSError(errno.ENOLCK, "No locks available")
    server = InProcessServer.on_files(files, appendonly="yes")
    assert said(server, "The folder . cannot be locked (No locks available)")
    assert run(server, "SET", "k", "v") == OK


# -- a folder that cannot be written -------------------------------------------------------------


def read_only() -> MemoryFiles:
    files = MemoryFiles()
    files.claim_error = PermissionError(errno.EACCES, "Permission denied")
    files.fail("create", errno.EACCES)
    return files


def lines_with(server: InProcessServer, text: str) -> list[str]:
    return [line for level, line in server.log_lines if level == "warning" and text in line]


def test_a_start_says_once_that_nothing_can_be_saved() -> None:
    server = InProcessServer.on_files(read_only(), save="3600 1")
    run(server, "SAVE")
    [line] = lines_with(server, "cannot be written")
    assert line == (
        "Nothing can be saved: the folder . cannot be written (Permission denied)."
        " Give the server another --dir."
    )
    assert not said(server, "cannot be locked")


def test_without_anything_to_save_nothing_is_said() -> None:
    assert not said(InProcessServer.on_files(read_only()), "cannot be written")


def test_a_signal_ends_it_and_names_what_is_lost() -> None:
    server = InProcessServer.on_files(read_only(), save="3600 1")
    server.connect().pipeline(("SET", "a", "1"), ("SET", "b", "1"), ("DEL", "b"))
    server.handle_signal()
    assert server.shutdown_requested
    assert server.persistence.has_lost_changes
    assert lines_with(server, "Lost") == [
        "Lost, as . cannot be written: 3 changes since the start; 1 keys were in memory."
    ]


def test_a_signal_ends_it_without_a_word_if_nothing_has_changed() -> None:
    server = InProcessServer.on_files(read_only(), save="3600 1")
    server.handle_signal()
    assert server.shutdown_requested
    assert not server.persistence.has_lost_changes
    assert not said(server, "Error trying to save")


def test_shutdown_is_refused_as_in_redis() -> None:
    server = InProcessServer.on_files(read_only(), save="3600 1")
    run(server, "SET", "a", "1")
    assert run(server, "SHUTDOWN").startswith(b"-ERR Errors trying to SHUTDOWN")
    assert not server.shutdown_requested


def test_where_saving_worked_before_a_signal_does_not_end_it() -> None:
    server = InProcessServer(save="3600 1")
    run(server, "SET", "a", "1")
    server.files.fail("create", errno.EROFS)
    server.handle_signal()
    assert not server.shutdown_requested
    assert said(server, "Error trying to save the DB, can't exit.")


def test_a_signal_ends_it_without_a_snapshot_if_the_append_only_file_has_all_data() -> None:
    server = InProcessServer(save="3600 1", appendonly="yes", appendfsync="no")
    run(server, "SET", "a", "1")
    server.files.fail("create", errno.ENOSPC)
    assert run(server, "SHUTDOWN") == REFUSED
    server.handle_signal()
    assert server.shutdown_requested
    assert not server.persistence.has_lost_changes
    assert lines_with(server, "Nothing is lost") == [
        "Error trying to save the DB. Nothing is lost: the append-only file has all data."
        " Exit anyway."
    ]
    assert run(server.restart(server.files.crash()), "GET", "a") == b"$1\r\n1\r\n"


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_signal_does_not_end_it_if_the_append_only_file_lacks_something(operation: str) -> None:
    server = InProcessServer(save="3600 1", appendonly="yes", appendfsync="no")
    server.files.fail("create", errno.ENOSPC)
    server.files.fail(operation, errno.ENOSPC)
    server.connect().execute("SET", "a", "1")
    server.handle_signal()
    assert not server.shutdown_requested
    assert said(server, "Error trying to save the DB, can't exit.")


def test_a_signal_does_not_end_it_while_the_append_only_file_is_switched_on() -> None:
    server = InProcessServer(save="3600 1")
    run(server, "SET", "a", "1")
    server.children.is_held = True
    run(server, "CONFIG", "SET", "appendonly", "yes")
    server.files.fail("create", errno.ENOSPC)
    server.handle_signal()
    assert not server.shutdown_requested


def test_a_folder_that_can_be_written_by_then_gets_the_snapshot() -> None:
    server = InProcessServer.on_files(read_only(), save="3600 1")
    run(server, "SET", "a", "1")
    server.files.heal()
    server.files.claim_error = None
    server.handle_signal()
    assert server.shutdown_requested
    assert not server.persistence.has_lost_changes
    assert server.files.exists("dump.rdb")
