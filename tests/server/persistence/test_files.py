"""server/persistence/files.py: the operating system's files, on a real disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from server.persistence.files import OsFiles, replace_file, write_all


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
