"""server/persistence/files.py: the operating system's files, on a real disk."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
from pathlib import Path

import pytest

from server.persistence import files as module
from server.persistence.files import (
    LOCK_NAME,
    FolderInUse,
    FolderLocks,
    OsFiles,
    holder,
    replace_file,
    write_all,
)


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0)


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
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0)
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


def test_a_file_is_appended_to_cut_synced_and_read(tmp_path: Path) -> None:
    files, path = OsFiles(), f"{tmp_path}/a"
    file = files.append(path)
    assert files.buffer(path) == b""
    write_all(file, b"12345")
    file.begin_sync()
    file.truncate(3)
    write_all(file, b"6")
    file.begin_sync()
    file.sync()
    assert file.size() == files.size(path) == 4
    file.close()
    again = files.append(path)
    write_all(again, b"7")
    again.close()
    buffer = files.buffer(path)
    assert buffer[:] == b"12367" and buffer[1:3] == b"23"
    files.create(path).close()
    assert files.size(path) == 0


def test_directories_and_names(tmp_path: Path) -> None:
    files, directory = OsFiles(), f"{tmp_path}/d"
    files.make_directory(directory)
    files.make_directory(directory)
    files.create(f"{directory}/b").close()
    files.create(f"{directory}/a").close()
    files.rename(f"{directory}/b", f"{directory}/c")
    files.sync_directory(directory)
    assert files.names(directory) == ["a", "c"]
    files.remove(f"{directory}/a")
    assert files.exists(directory) and not files.exists(f"{directory}/a")
    with pytest.raises(FileExistsError):
        files.make_directory(f"{directory}/c")


def test_a_file_is_replaced_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    files = OsFiles()
    replace_file(files, str(tmp_path), "a", b"1")
    replace_file(files, str(tmp_path), "a", b"2")
    assert files.names(str(tmp_path)) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"2"


def test_closing_does_not_fail_whatever_the_disk_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFiles().create(f"{tmp_path}/a")

    def close(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "close", close)
    file.close()
