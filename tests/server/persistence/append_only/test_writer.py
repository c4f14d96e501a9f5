"""server/persistence/append_only/writer.py: writing, syncing, errors."""

from __future__ import annotations

import errno

import pytest

from protocol import replies
from server.inprocess.memory_files import MemoryFiles
from tests.doubles.append_only import FIRST, Died, Server, load, opened, propagate, unit


def encoded(*requests: list[bytes]) -> bytes:
    """What should be in a file."""
    return b"".join(map(replies.command, requests))


def count(server: Server, operation: str) -> int:
    """Calls of an operation on the first increment."""
    return server.files.log.count((operation, FIRST))


# -- what is written -----------------------------------------------------------------------------


def test_the_database_is_selected_once_and_whenever_it_changes() -> None:
    server = opened("always")
    for number in (2, 4, 5, 3, 1):
        propagate(server.instance, number % 2, unit(number))
    propagate(server.instance, 5, [[b"DEL", b"k"]])
    server.file.flush(server.instance.monotonic_ms)
    zero, one, five = ([b"SELECT", b"%d" % index] for index in (0, 1, 5))
    assert server.files.snapshot()[FIRST] == encoded(
        zero, *unit(2), *unit(4), one, *unit(5), *unit(3), one, *unit(1), five, [b"DEL", b"k"]
    )


def test_a_transaction_that_ends_in_another_database_is_followed_by_select() -> None:
    server = opened("always")
    propagate(server.instance, 0, [[b"MULTI"], [b"A"], [b"SELECT", b"5"], [b"B"], [b"EXEC"]])
    propagate(server.instance, 5, [[b"C"]])
    propagate(server.instance, 0, [[b"D"]])
    server.file.flush(server.instance.monotonic_ms)
    assert server.files.snapshot()[FIRST].endswith(
        encoded([b"EXEC"], [b"C"], [b"SELECT", b"0"], [b"D"])
    )


def test_times_are_noted_once_a_second_when_they_are_asked_for() -> None:
    server = opened("always")
    server.core.instance.config.aof_timestamp_enabled = True
    propagate(server.instance, 0, [[b"A"]])
    propagate(server.instance, 0, [[b"B"]])
    server.file.flush(server.instance.monotonic_ms)
    server.pass_time(1000)
    propagate(server.instance, 0, [[b"C"]])
    server.file.flush(server.instance.monotonic_ms)
    assert server.files.snapshot()[FIRST] == (
        b"#TS:1700000000\r\n"
        + encoded([b"SELECT", b"0"], [b"A"], [b"B"])
        + b"#TS:1700000001\r\n"
        + encoded([b"C"])
    )


# -- always --------------------------------------------------------------------------------------


def test_always_writes_and_syncs_once_for_a_whole_cycle() -> None:
    server = opened("always")
    before = count(server, "write"), count(server, "sync")
    server.cycle(100)
    assert (count(server, "write"), count(server, "sync")) == (before[0] + 1, before[1] + 1)
    assert server.synced == 100
    assert load(server.files.crash()) == list(range(1, 101))


def test_the_files_of_now_are_written_within_a_cycle_and_synced_at_its_end() -> None:
    for policy, syncs in (("always", 1), ("everysec", 0)):
        server = opened(policy)
        before = count(server, "write"), count(server, "sync")
        propagate(server.instance, 0, [[b"SET", b"k", b"1"]])
        files = server.file.files_now()
        assert (count(server, "write"), count(server, "sync")) == (before[0] + 1, before[1])
        assert files.pending_bytes == 0
        assert files.sizes[-1] == len(server.files.snapshot()[FIRST]) > 0
        server.file.flush(server.instance.monotonic_ms)
        assert (count(server, "write"), count(server, "sync")) == (before[0] + 1, before[1] + syncs)


def test_a_cycle_without_changes_touches_no_file() -> None:
    for policy in ("always", "everysec", "no"):
        server = opened(policy)
        server.cycle()
        server.tick(1000)
        server.syncer.wait()
        server.tick()
        calls = server.files.calls["any"]
        server.tick(5000)
        assert server.files.calls["any"] == calls


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            "write",
            "Error writing to the AOF file: Input/output error. Can't recover from AOF write "
            "error when the AOF fsync policy is 'always'. Exiting...",
        ),
        (
            "sync",
            "Can't persist AOF for fsync error when the AOF fsync policy is 'always': "
            "Input/output error. Exiting...",
        ),
    ],
)
def test_always_ends_the_process_where_it_cannot_keep_its_word(
    operation: str, message: str
) -> None:
    server = opened("always")
    server.cycle(3)
    server.files.fail(operation, errno.EIO)
    with pytest.raises(Died) as died:
        server.cycle()
    assert str(died.value) == message
    assert load(server.files.crash()) == [1, 2, 3]


def test_always_dies_with_a_file_that_ends_with_a_whole_unit() -> None:
    server = opened("always")
    server.cycle(3)
    server.files.shorten(30)
    server.files.fail("write", errno.ENOSPC, at=2)
    size = server.files.size(FIRST)
    with pytest.raises(Died):
        server.cycle(5)
    assert server.files.size(FIRST) == size


def test_a_change_from_everysec_to_always_syncs_what_was_written_before() -> None:
    server = opened("everysec")
    server.cycle(3, ms=2000)
    server.cycle(1)
    server.instance.config.appendfsync = "always"
    server.file.flush(server.instance.monotonic_ms)
    assert load(server.files.crash()) == [1, 2, 3, 4]
    assert server.synced == 4


# -- everysec and no -----------------------------------------------------------------------------


def test_everysec_writes_at_once_and_syncs_beside_the_loop_once_a_second() -> None:
    server = opened("everysec")
    server.cycle(2)
    assert load(server.files.kill()) == [1, 2] and load(server.files.crash()) == []
    server.cycle(1, ms=999)
    assert not server.syncer.waiting
    server.cycle(1, ms=1)
    assert len(server.syncer.waiting) == 1 and server.state.pending_syncs == 1
    assert server.synced == 0
    server.syncer.run_next()
    server.tick(ms=0)
    assert server.synced == 4 and server.state.pending_syncs == 0
    assert load(server.files.crash()) == [1, 2, 3, 4]


def test_everysec_syncs_the_last_writes_without_further_ones() -> None:
    server = opened("everysec")
    server.cycle(1)
    server.tick(1000)
    server.syncer.run_next()
    assert load(server.files.crash()) == [1]


def test_a_write_waits_for_a_running_sync_for_two_seconds_then_goes_ahead() -> None:
    server = opened("everysec")
    server.cycle(1, ms=1000)
    server.cycle(1, ms=10)
    assert 0 < server.state.buffer_bytes == server.file.buffer_bytes
    server.cycle(1, ms=1999)
    assert load(server.files.kill()) == [1]
    assert 0 < server.state.buffer_bytes == server.file.buffer_bytes
    server.cycle(1, ms=1)
    assert load(server.files.kill()) == [1, 2, 3, 4]
    assert server.state.buffer_bytes == 0
    assert server.state.delayed_syncs == 1
    assert "Asynchronous AOF fsync is taking too long" in server.core.log_lines[-1][1]
    server.cycle(1, ms=1999)
    assert load(server.files.kill()) == [1, 2, 3, 4]


def test_a_write_can_be_forced_past_a_running_sync() -> None:
    server = opened("everysec")
    server.cycle(1, ms=1000)
    server.write(1)
    server.file.flush(server.instance.monotonic_ms, force=True)
    assert load(server.files.kill()) == [1, 2] and server.state.delayed_syncs == 0


def test_a_write_goes_ahead_as_soon_as_the_sync_is_done() -> None:
    server = opened("everysec")
    server.cycle(1, ms=1000)
    server.cycle(1, ms=10)
    server.syncer.run_next()
    server.tick()
    assert load(server.files.kill()) == [1, 2]
    assert server.state.delayed_syncs == 0
    assert server.synced == 1


def test_no_writes_at_once_and_never_syncs() -> None:
    server = opened("no")
    syncs = server.files.calls["sync"]
    for _ in range(5):
        server.cycle(1, ms=1000)
    assert load(server.files.kill()) == [1, 2, 3, 4, 5]
    assert server.files.calls["sync"] == syncs and not server.syncer.waiting
    assert server.synced == 0


@pytest.mark.parametrize("policy", ["always", "everysec"])
@pytest.mark.parametrize("child", ["save_in_progress", "rewrite_in_progress"])
def test_no_sync_beside_a_child_when_it_is_asked_for(policy: str, child: str) -> None:
    server = opened(policy)
    server.instance.config.no_appendfsync_on_rewrite = True
    setattr(server.state, child, True)
    syncs = count(server, "sync")
    server.cycle(1, ms=2000)
    server.syncer.wait()
    assert count(server, "sync") == syncs and load(server.files.kill()) == [1]
    setattr(server.state, child, False)
    server.tick(1000)
    server.syncer.wait()
    assert load(server.files.crash()) == [1]


# -- errors --------------------------------------------------------------------------------------


def test_a_full_disk_is_reported_and_loses_no_data_once_there_is_room_again() -> None:
    server = opened("everysec")
    server.cycle(2)
    size = server.files.size(FIRST)
    server.files.free_bytes = 50
    server.cycle(5)
    assert server.state.write_error == "No space left on device"
    assert server.health_changes == ["No space left on device"]
    assert server.files.size(FIRST) == size, "the torn end was cut off"
    assert server.state.buffer_bytes > 100
    server.tick()
    assert server.state.write_error
    server.files.heal()
    server.tick()
    assert server.health_changes == ["No space left on device", ""]
    assert load(server.files.kill()) == [1, 2, 3, 4, 5, 6, 7]
    assert server.state.buffer_bytes == 0


def test_a_torn_end_that_cannot_be_cut_off_is_completed_later() -> None:
    server = opened("no")
    server.cycle(2)
    server.files.shorten(50)
    server.files.fail("write", errno.EIO, at=2)
    server.files.fail("truncate", errno.EIO)
    server.cycle(5)
    assert any("Could not remove short write" in line for _, line in server.core.log_lines)
    assert load(server.files.kill())[-1] < 7
    server.files.heal()
    server.cycle()
    assert load(server.files.kill()) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_short_writes_alone_are_no_error() -> None:
    server = opened("always")
    for at in (1, 2, 3):
        server.files.shorten(7, at=at)
    server.cycle(5)
    assert load(server.files.crash()) == [1, 2, 3, 4, 5]
    assert not server.health_changes


def test_an_error_is_logged_twice_a_minute_at_most() -> None:
    server = opened("no")
    server.files.fail("write", errno.ENOSPC)
    for _ in range(61):
        server.cycle(1, ms=1000)
    lines = [line for _, line in server.core.log_lines]
    assert lines.count("Error writing to the AOF file: No space left on device") == 3


def test_a_failed_sync_is_reported_until_one_succeeds() -> None:
    server = opened("everysec")
    server.files.fail("sync", errno.EIO, at=1)
    server.cycle(1, ms=1000)
    server.syncer.run_next()
    server.tick(10)
    assert server.state.write_error == "Input/output error"
    server.tick(1000)
    server.syncer.run_next()
    server.tick(10)
    assert server.health_changes == ["Input/output error", ""]


def test_a_later_sync_makes_nothing_safe_but_a_rewrite_does() -> None:
    files = MemoryFiles()
    files.forgetful_sync = True
    server = opened("everysec", files)
    files.fail("sync", errno.EIO, at=1)
    for _ in range(3):
        server.cycle(1, ms=1000)
        server.syncer.wait()
        server.tick(10)
    assert not server.state.write_error
    assert server.file.wants_rewrite and server.synced == 0
    assert load(files.crash()) == []
    server.rewrite()
    assert not server.file.wants_rewrite and server.synced == 3
    assert load(files.crash()) == [1, 2, 3]
    server.cycle(1, ms=1000)
    server.syncer.wait()
    server.tick(10)
    assert server.synced == 4
    assert load(files.crash()) == [1, 2, 3, 4]


def test_a_sync_that_fails_during_the_rewrite_asks_for_another_one() -> None:
    server = opened("everysec")
    server.cycle(1)
    server.file.begin_rewrite()
    server.syncer.wait()
    server.cycle(1, ms=1000)
    server.files.fail("sync", errno.EIO, at=1)
    server.syncer.wait()
    server.tick(10)
    server.finish(server.file.temporary_base_path)
    assert server.file.wants_rewrite
    server.rewrite()
    assert not server.file.wants_rewrite and server.synced == 2


def test_without_a_sync_policy_failed_syncs_refuse_no_writes() -> None:
    server = opened("everysec")
    server.files.fail("sync", errno.EIO)
    server.cycle(1, ms=1000)
    server.syncer.run_next()
    server.tick(10)
    assert server.state.write_error
    server.instance.config.appendfsync = "no"
    server.tick(10)
    assert not server.state.write_error


def test_always_promises_nothing_before_an_earlier_file_is_synced() -> None:
    server = opened("everysec")
    server.cycle(1)
    server.file.begin_rewrite()  # the first increment is to be synced beside the loop
    server.instance.config.appendfsync = "always"
    server.cycle(1)
    assert server.synced == 2
    assert load(server.files.crash()) == [1, 2]
