"""One process at a time writes into a folder of data."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
from pathlib import Path

import pytest

from server.persistence import folder_lock
from server.persistence.folder_lock import LOCK_NAME, FolderInUse, FolderLocks, holder


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_lock, "PATIENCE_SECONDS", 0)


def test_a_folder_that_is_in_use_is_refused_and_its_user_is_named(tmp_path: Path) -> None:
    first, second = FolderLocks(), FolderLocks()
    first.claim(str(tmp_path), "port 6379")
    first.claim(f"{tmp_path}/.", "port 6379")  # it has it
    with pytest.raises(FolderInUse) as refused:
        second.claim(str(tmp_path), "port 7000")
    assert refused.value.errno == errno.EBUSY
    assert f"The folder {tmp_path} is in use by process {os.getpid()} on " in str(refused.value)
    assert "port 6379" in str(refused.value)
    assert "port 6379" in (holder(str(tmp_path)) or "")
    first.release()
    assert holder(str(tmp_path)) is None
    second.claim(str(tmp_path), "port 7000")
    second.release()


def test_a_clean_end_leaves_no_file(tmp_path: Path) -> None:
    locks = FolderLocks()
    locks.claim(str(tmp_path), "me")
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_NAME]
    locks.release()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_left_means_nothing(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text("process 1 on elsewhere, and a long text besides" * 20)
    locks = FolderLocks()
    assert holder(str(tmp_path)) is None
    locks.claim(str(tmp_path), "me")
    assert (tmp_path / LOCK_NAME).read_text().endswith(", me")
    locks.release()


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    claimed = context.Event()

    def hold() -> None:
        FolderLocks().claim(str(tmp_path), "me")
        claimed.set()
        context.Event().wait()

    process = context.Process(target=hold)
    process.start()
    assert claimed.wait(30)
    with pytest.raises(FolderInUse, match=f"process {process.pid} "):
        FolderLocks().claim(str(tmp_path), "other")
    process.kill()
    process.join()
    locks = FolderLocks()
    locks.claim(str(tmp_path), "other")
    locks.release()


def test_a_file_that_its_holder_has_just_removed_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = FolderLocks(), FolderLocks()
    first.claim(str(tmp_path), "first")
    flock = fcntl.flock

    def release_and_lock(descriptor: int, operation: int) -> None:
        first.release()  # between opening and locking
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", release_and_lock)
    second.claim(str(tmp_path), "second")
    assert "second" in (tmp_path / LOCK_NAME).read_text()
    monkeypatch.undo()
    monkeypatch.setattr(folder_lock, "PATIENCE_SECONDS", 0)
    with pytest.raises(FolderInUse):
        FolderLocks().claim(str(tmp_path), "third")
    second.release()


def test_where_there_can_be_no_lock_the_system_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError):
        FolderLocks().claim(f"{tmp_path}/missing", "me")
    assert holder(f"{tmp_path}/missing") is None

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    (tmp_path / LOCK_NAME).touch()
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="No locks available"):
        FolderLocks().claim(str(tmp_path), "me")
    assert holder(str(tmp_path)) is None
