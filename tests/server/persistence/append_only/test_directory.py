"""server/persistence/append_only/directory.py: reading the manifest, and changing it."""

from __future__ import annotations

import errno
import random
from pathlib import Path

import pytest

from server.inprocess.memory_files import MemoryFiles
from server.persistence.append_only.directory import (
    AppendOnlyDirectory,
    Job,
    ManualSyncer,
    ThreadSyncer,
)
from server.persistence.files import OsFiles, write_all
from storage.append_only.manifest import BASE, Manifest, ManifestError, Part
from tests.doubles.append_only import DIRECTORY, MANIFEST


def fail() -> None:
    """A sync of a disk that is broken."""
    raise OSError(errno.EIO, "Input/output error")


def test_a_job_keeps_its_error() -> None:
    syncer, job = ManualSyncer(), Job(fail)
    syncer.submit(job)
    assert not job.done
    syncer.run_next()
    assert job.done and isinstance(job.error, OSError)


def test_a_job_that_fails_unexpectedly_has_not_succeeded() -> None:
    job = Job(lambda: [][0])
    job.run()
    assert job.done and job.error is not None


def test_the_thread_runs_jobs_in_order_and_notifies_after_each(tmp_path: Path) -> None:
    order: list[str] = []
    syncer = ThreadSyncer(lambda: order.append("notified"))
    file = OsFiles().create(f"{tmp_path}/a")
    write_all(file, b"1")
    jobs = [Job(file.sync), Job(fail), Job(lambda: order.append("last"))]
    for job in jobs:
        syncer.submit(job)
    syncer.wait()
    assert order == ["notified", "notified", "last", "notified"]
    assert [job.error is None for job in jobs] == [True, False, True]
    file.close()


def test_waiting_for_nothing_returns() -> None:
    ThreadSyncer().wait()
    ManualSyncer().wait()


OLD = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n1\r\n"
MOVED = f"{DIRECTORY}/appendonly.aof"
NAMED = b"file appendonly.aof seq 1 type b\n"


def directory_of(files: MemoryFiles) -> AppendOnlyDirectory:
    """As the server would have it."""
    return AppendOnlyDirectory(files, ManualSyncer(), ".", DIRECTORY, "appendonly.aof")


def read(files: MemoryFiles) -> AppendOnlyDirectory:
    """At a start."""
    directory = directory_of(files)
    directory.make()
    directory.read()
    return directory


# -- the single file of Redis 6 and older --------------------------------------------------------


def test_the_single_file_of_older_servers_becomes_the_base() -> None:
    files = MemoryFiles()
    files.put("appendonly.aof", OLD)
    directory = read(files)
    assert directory.manifest == Manifest(Part("appendonly.aof", 1, BASE))
    assert files.crash().snapshot() == {MANIFEST: NAMED, MOVED: OLD}
    assert directory.manifest.next_base("appendonly.aof", is_snapshot=True).sequence == 2


def test_an_interrupted_move_goes_on_at_the_next_start() -> None:
    files = MemoryFiles()
    files.put("appendonly.aof", OLD)
    files.put(MANIFEST, NAMED)
    read(files)
    assert files.crash().snapshot() == {MANIFEST: NAMED, MOVED: OLD}


def test_the_move_survives_a_failure_or_a_crash_at_every_call() -> None:
    chance = random.Random(0)
    for at in range(1, 30):
        files = MemoryFiles()
        files.put("appendonly.aof", OLD)
        files.fail("any", errno.EIO, at=at)
        try:
            read(files)
        except OSError:
            pass
        else:
            assert files.faults_left
            assert at > 8
            return
        for _ in range(20):
            after = files.crash(lambda limit: chance.randint(0, limit))
            read(after)
            assert after.crash().snapshot() == {MANIFEST: NAMED, MOVED: OLD}
        files.heal()
        read(files)
        assert files.crash().snapshot() == {MANIFEST: NAMED, MOVED: OLD}
    pytest.fail("it does not end")


@pytest.mark.parametrize(
    "present",
    [
        {MANIFEST: b"file appendonly.aof.1.incr.aof seq 1 type i\n"},
        {MANIFEST: NAMED, MOVED: b"moved before"},
    ],
)
def test_a_single_file_beside_newer_ones_is_left_alone(present: dict[str, bytes]) -> None:
    files = MemoryFiles()
    files.put("appendonly.aof", OLD)
    for path, content in present.items():
        files.put(path, content)
    read(files)
    assert files.snapshot() == {"appendonly.aof": OLD, **present}


def test_a_manifest_that_cannot_be_read_is_an_error() -> None:
    files = MemoryFiles()
    files.put(MANIFEST, b"nonsense\n")
    with pytest.raises(ManifestError):
        read(files)


# -- changes -------------------------------------------------------------------------------------


def test_leftovers_of_interrupted_work_are_removed() -> None:
    files = MemoryFiles()
    history = b"file appendonly.aof.1.base.rdb seq 1 type h\n"
    files.put(MANIFEST, b"file appendonly.aof.2.base.rdb seq 2 type b\n" + history)
    files.put(f"{DIRECTORY}/appendonly.aof.1.base.rdb", b"1")
    files.put(f"{DIRECTORY}/appendonly.aof.2.base.rdb", b"2")
    for name in ("temp-appendonly.aof.manifest", "temp-appendonly.aof.incr", "temp-mine"):
        files.put(f"{DIRECTORY}/{name}", b"x")
    directory = directory_of(files)
    directory.read()
    directory.remove_leftovers()
    directory._syncer.wait()
    directory.forget_removed()
    assert files.names(DIRECTORY) == [
        "appendonly.aof.2.base.rdb", "appendonly.aof.manifest", "temp-mine",
    ]  # fmt: skip
    assert files.snapshot()[MANIFEST] == b"file appendonly.aof.2.base.rdb seq 2 type b\n"


def test_history_that_cannot_be_removed_stays_in_the_manifest() -> None:
    files = MemoryFiles()
    content = b"file b seq 2 type b\nfile a seq 1 type h\n"
    files.put(MANIFEST, content)
    files.put(f"{DIRECTORY}/a", b"1")
    directory = directory_of(files)
    directory.read()
    files.fail("remove", errno.EIO, at=1)
    directory.remove_history()
    directory._syncer.wait()
    directory.forget_removed()
    assert files.snapshot()[MANIFEST] == content
    directory.remove_history()
    directory._syncer.wait()
    directory.forget_removed()
    assert files.snapshot() == {MANIFEST: b"file b seq 2 type b\n"}


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "sync_directory"])
def test_an_increment_that_cannot_be_made_changes_nothing(operation: str) -> None:
    files = MemoryFiles()
    directory = read(files)
    directory.new_increment().close()
    before = files.snapshot()
    files.fail(operation, errno.EIO, at=1)
    with pytest.raises(OSError, match="Input/output"):
        directory.new_increment()
    assert files.snapshot() == before
    assert len(directory.manifest.increments) == 1


def test_a_manifest_that_may_not_be_on_disk_is_written_again() -> None:
    files = MemoryFiles()
    directory = read(files)
    directory.new_increment().close()
    before = files.snapshot()
    for at in (2, 3, 4):  # the first one is about the new file's name
        files.fail("sync_directory", errno.EIO, at=at)
    with pytest.raises(OSError, match="Input/output"):
        directory.new_increment()
    assert files.exists(f"{DIRECTORY}/appendonly.aof.2.incr.aof"), "a manifest may name it"
    with pytest.raises(OSError, match="Input/output"):
        directory.repair()
    directory.repair()
    assert files.snapshot() == before
    assert files.crash().snapshot()[MANIFEST] == before[MANIFEST]
    calls = files.calls["any"]
    directory.repair()
    assert files.calls["any"] == calls


def test_a_file_that_was_made_in_doubt_and_is_in_use_now_is_kept() -> None:
    files = MemoryFiles()
    directory = read(files)
    directory.new_increment().close()
    for at in (2, 3):
        files.fail("sync_directory", errno.EIO, at=at)
    with pytest.raises(OSError, match="Input/output"):
        directory.new_increment()
    directory.new_increment().close()
    assert files.exists(f"{DIRECTORY}/appendonly.aof.2.incr.aof")
    assert len(directory.manifest.increments) == 2
