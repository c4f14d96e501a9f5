"""Which files of a folder are checked."""

from __future__ import annotations

import pytest

from server.check.folder import data_files
from server.inprocess.memory_files import MemoryFiles

MANIFEST = "data/appendonlydir/appendonly.aof.manifest"
PARTS = (
    "data/appendonlydir/appendonly.aof.1.base.rdb",
    "data/appendonlydir/appendonly.aof.1.incr.aof",
)


def disk(*paths: str) -> MemoryFiles:
    files = MemoryFiles()
    for folder in ("data", "data/appendonlydir", "data/other"):
        files.make_directory(folder)
    for path in paths:
        files.put(path, b"x")
    return files


def test_the_manifest_stands_for_the_files_that_it_names() -> None:
    files = disk(MANIFEST, *PARTS, "data/dump.rdb", "data/appendonly.aof", "data/rillway.lock")
    assert data_files(files, "data") == [MANIFEST, "data/dump.rdb"]
    assert data_files(files, "data/appendonlydir")[0] == MANIFEST


def test_an_append_only_file_may_have_no_manifest() -> None:
    files = disk("data/appendonly.aof", "data/dump.rdb", "data/notes.txt")
    assert data_files(files, "data") == ["data/appendonly.aof", "data/dump.rdb"]


def test_files_that_were_never_finished_are_left_out() -> None:
    assert data_files(disk("data/temp-7.rdb", "data/temp-appendonly.aof.manifest"), "data") == []


@pytest.mark.parametrize("path", [MANIFEST, "nowhere"])
def test_what_is_no_folder_stands_for_itself(path: str) -> None:
    assert data_files(disk(MANIFEST), path) == [path]
