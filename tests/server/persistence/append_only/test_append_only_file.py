"""server/persistence/append_only/append_only_file.py: opening, closing, rewrites, switching on."""

from __future__ import annotations

import errno

import pytest

from server.inprocess.memory_files import MemoryFiles
from server.persistence.append_only.append_only_file import Phase
from tests.doubles.append_only import DIRECTORY, FIRST, MANIFEST, Server, load, opened

# -- opening and closing -------------------------------------------------------------------------


def test_the_first_start_writes_a_base_of_the_present_data() -> None:
    server = Server(MemoryFiles())
    server.last = 2
    server.file.open(server.write_base)
    server.cycle()
    assert server.files.snapshot()[MANIFEST] == (
        b"file appendonly.aof.1.base.rdb seq 1 type b\n"
        b"file appendonly.aof.1.incr.aof seq 1 type i\n"
    )
    assert load(server.files.crash()) == [1, 2, 3]


def test_a_restart_goes_on_in_the_last_increment() -> None:
    files = MemoryFiles()
    for _ in range(3):
        server = opened("everysec", files)
        server.cycle(2)
        server.file.close()
        files = files.crash()
    assert load(files) == [1, 2, 3, 4, 5, 6]
    assert files.names(DIRECTORY) == ["appendonly.aof.1.incr.aof", "appendonly.aof.manifest"]


def test_what_a_killed_process_has_left_is_safe_once_it_is_taken_over() -> None:
    server = opened("no")
    server.cycle(3)
    server.file.begin_rewrite()
    server.syncer.waiting.clear()  # it was killed before the job ran
    server.file._writer._syncs.clear()
    server.cycle(1)
    files = server.files.kill()
    assert load(files.crash()) == []
    opened("no", files)
    assert load(files.crash()) == [1, 2, 3, 4]


def test_a_manifest_whose_name_is_not_on_disk_yet_is_safe_before_anything_is_promised() -> None:
    server = opened("always")
    server.cycle(1)
    files = server.files
    part = server.file.directory.manifest.next_increment("appendonly.aof")
    files.create(f"{DIRECTORY}/{part.name}").close()
    files.sync_directory(DIRECTORY)
    file = files.create(f"{DIRECTORY}/temp-manifest")
    file.write(server.file.directory.manifest.with_increment(part).format())
    file.sync()
    files.rename(f"{DIRECTORY}/temp-manifest", MANIFEST)  # and here it was killed
    server = opened("always", files.kill())
    server.cycle(1)
    assert load(server.files.crash()) == [1, 2]


def test_requests_appended_to_a_closed_file_are_ignored() -> None:
    server = opened("always")
    server.file.close()
    server.cycle()
    assert load(server.files) == []
    assert server.files.snapshot()[FIRST] == b""


def test_closing_writes_and_syncs_everything() -> None:
    for policy in ("always", "everysec", "no"):
        server = opened(policy)
        server.cycle(3)
        server.write(2)
        server.file.close()
        server.file.close()
        assert load(server.files.crash()) == [1, 2, 3, 4, 5]
        assert server.file.phase is Phase.OFF


def test_closing_says_when_something_is_lost() -> None:
    for operation in ("write", "sync"):
        server = opened("everysec")
        server.write(2)
        server.files.fail(operation, errno.EIO)
        with pytest.raises(OSError, match="Input/output error"):
            server.file.close()
        assert server.file.phase is Phase.OFF


# -- rewriting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["always", "everysec", "no"])
def test_a_rewrite_puts_a_base_and_what_came_since_in_place_of_everything(policy: str) -> None:
    server = opened(policy)
    server.cycle(3)
    server.file.begin_rewrite()
    server.write_base(server.file.temporary_base_path)
    server.cycle(3)
    server.file.finish_rewrite(server.file.temporary_base_path, is_snapshot=False)
    server.cycle(3)
    server.syncer.wait()
    server.tick()
    assert load(server.files.kill()) == list(range(1, 10))
    assert server.files.snapshot()[MANIFEST] == (
        b"file appendonly.aof.1.base.aof seq 1 type b\n"
        b"file appendonly.aof.2.incr.aof seq 2 type i\n"
    )
    assert server.files.names(DIRECTORY) == [
        "appendonly.aof.1.base.aof", "appendonly.aof.2.incr.aof", "appendonly.aof.manifest",
    ]  # fmt: skip


def test_a_snapshot_as_base_is_named_so() -> None:
    server = opened("always")
    server.file.begin_rewrite()
    server.write_base("temp-1")
    server.file.finish_rewrite("temp-1", is_snapshot=True)
    assert server.file.directory.manifest.base is not None
    assert server.file.directory.manifest.base.name == "appendonly.aof.1.base.rdb"


def test_info_shows_the_sizes() -> None:
    server = opened("always")
    server.cycle(4)
    assert server.state.current_bytes == server.files.size(FIRST)
    assert server.state.base_bytes == 0
    server.rewrite()
    base = server.files.size(f"{DIRECTORY}/appendonly.aof.1.base.aof")
    assert server.state.current_bytes == server.state.base_bytes == base
    server.cycle(1)
    increment = server.files.size(f"{DIRECTORY}/appendonly.aof.2.incr.aof")
    assert server.state.current_bytes == base + increment
    again = Server(server.files.kill())
    again.file.open()
    assert again.state.current_bytes == base + increment
    assert again.state.base_bytes == base  # a restart does not put the next rewrite off


def test_a_rewrite_under_always_keeps_the_promise_of_the_cycle_in_which_it_begins() -> None:
    server = opened("always")
    server.write(3)
    server.file.begin_rewrite()
    server.write(1)
    server.file.flush(server.instance.monotonic_ms)
    assert server.synced == 4
    assert load(server.files.crash()) == [1, 2, 3, 4]


def test_after_a_rotation_nothing_is_written_before_the_earlier_file_is_synced() -> None:
    server = opened("everysec")
    server.cycle(3)
    server.file.begin_rewrite()
    server.cycle(3)
    assert load(server.files.kill()) == [1, 2, 3]
    server.syncer.run_next()
    server.tick()
    assert load(server.files.kill()) == [1, 2, 3, 4, 5, 6]
    assert load(server.files.crash()) == [1, 2, 3] and server.synced == 3


def test_a_rewrite_that_failed_leaves_all_files_in_charge() -> None:
    server = opened("always")
    server.cycle(2)
    server.file.begin_rewrite()
    server.write_base(server.file.temporary_base_path)
    server.cycle(2)
    server.file.abandon_rewrite(server.file.temporary_base_path)
    server.cycle(2)
    assert load(server.files.crash()) == [1, 2, 3, 4, 5, 6]
    assert server.files.names(DIRECTORY) == [
        "appendonly.aof.1.incr.aof", "appendonly.aof.2.incr.aof", "appendonly.aof.manifest",
    ]  # fmt: skip
    server.rewrite()
    assert load(server.files.crash()) == [1, 2, 3, 4, 5, 6]


def test_rewrites_that_fail_one_after_another_share_an_empty_increment() -> None:
    server = opened("always")
    server.cycle(2)
    for _ in range(10):
        server.file.begin_rewrite()
        server.file.abandon_rewrite()
    assert len(server.file.directory.manifest.increments) == 2
    server.rewrite()
    server.cycle(1)
    assert load(server.files.crash()) == [1, 2, 3]
    assert len(server.file.directory.manifest.increments) == 1


def test_a_rewrite_does_not_begin_with_a_disk_that_cannot_be_written() -> None:
    server = opened("everysec")
    server.cycle(1)
    server.write(1)
    server.files.fail("write", errno.ENOSPC, at=1)
    with pytest.raises(OSError, match="No space left"):
        server.file.begin_rewrite()
    server.tick()
    assert load(server.files.kill()) == [1, 2]
    assert len(server.file.directory.manifest.increments) == 1


def test_no_rewrite_begins_while_the_manifest_on_disk_is_uncertain() -> None:
    server = opened("always")
    server.cycle(1)
    server.file.begin_rewrite()
    for at in (2, 3, 4):  # of the manifest, its repair, and the repair at the next attempt
        server.files.fail("sync_directory", errno.EIO, at=at)
    with pytest.raises(OSError, match="Input/output"):
        server.finish(server.file.temporary_base_path)
    with pytest.raises(OSError, match="Input/output"):
        server.file.begin_rewrite()
    server.cycle(1)
    server.tick()
    server.rewrite()
    assert load(server.files.crash()) == [1, 2]


# -- switched on in a running server -------------------------------------------------------------


def switched_on(server: Server) -> None:
    """CONFIG SET appendonly yes, with changes at every moment."""
    server.cycle(3)
    server.file.begin_rewrite()
    server.write_base(server.file.temporary_base_path)
    server.cycle(3)
    assert server.file.phase is Phase.COLLECTING
    server.file.finish_rewrite(server.file.temporary_base_path, is_snapshot=False)


@pytest.mark.parametrize("policy", ["always", "everysec", "no"])
def test_data_is_durable_once_switching_on_has_written_the_first_base(policy: str) -> None:
    server = Server(MemoryFiles(), policy)
    switched_on(server)
    assert server.file.phase is Phase.ON and server.synced == 6
    assert load(server.files.crash()) == [1, 2, 3, 4, 5, 6]
    server.cycle(1)
    assert load(server.files.kill()) == [1, 2, 3, 4, 5, 6, 7]


def test_files_of_an_earlier_time_are_in_charge_until_then() -> None:
    server = opened("always")
    server.cycle(2)
    server.file.close()
    server.cycle(2)  # in memory only
    server.file.begin_rewrite()
    server.cycle(2)
    assert load(server.files.crash()) == [1, 2]
    assert server.synced == 2
    server.finish(server.file.temporary_base_path)
    server.syncer.wait()
    server.tick()
    numbers = load(server.files.crash())
    assert numbers == [1, 2, 3, 4, 5, 6, 5, 6]  # this test's base was written at the end
    assert server.files.names(DIRECTORY) == [
        "appendonly.aof.1.base.aof", "appendonly.aof.2.incr.aof", "appendonly.aof.manifest",
    ]  # fmt: skip


def test_a_failed_switch_on_leaves_no_files_and_can_be_repeated() -> None:
    server = Server(MemoryFiles())
    server.cycle(1)
    server.file.begin_rewrite()
    server.cycle(1)
    server.file.abandon_rewrite()
    assert server.file.phase is Phase.OFF
    assert server.files.names(DIRECTORY) == []
    switched_on(server)
    assert load(server.files.crash()) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_an_error_while_switching_on_does_not_end_the_process() -> None:
    server = Server(MemoryFiles(), "always")
    server.file.begin_rewrite()
    server.files.fail("write", errno.ENOSPC)
    server.cycle(1)
    assert server.state.write_error
    with pytest.raises(OSError, match="No space left"):
        server.file.finish_rewrite("temp", is_snapshot=False)
    server.file.abandon_rewrite()
    assert not server.state.write_error


def test_a_base_whose_increment_cannot_be_had_is_removed() -> None:
    server = Server(MemoryFiles(), "always")
    server.file.begin_rewrite()
    server.write_base("temp-1")
    server.files.fail("rename", errno.EIO, at=2)  # the base's is the first
    with pytest.raises(OSError, match="Input/output"):
        server.file.finish_rewrite("temp-1", is_snapshot=False)
    server.file.abandon_rewrite("temp-1")
    assert server.files.names(DIRECTORY) == []


def test_a_failure_of_an_earlier_time_is_over_when_the_file_is_switched_on_again() -> None:
    server = opened("everysec")
    server.files.fail("sync", errno.EIO)
    server.cycle(1)
    server.tick(1000)
    server.syncer.wait()
    server.tick()
    assert server.file.wants_rewrite
    server.files.heal()
    server.file.close()
    server.rewrite()
    assert not server.file.wants_rewrite
    assert server.synced == server.last
