"""server/check/repair.py: truncating a file, and keeping a copy of the rest."""

from __future__ import annotations

import errno

import pytest

from server.check.repair import cut
from server.inprocess.memory_files import MemoryFiles


def test_the_truncated_file_and_the_copy_of_the_rest_are_on_disk() -> None:
    files = MemoryFiles()
    files.put("d/file", b"soundtorn")
    assert cut(files, "d/file", 5) == "d/file.cut-5"
    assert files.crash().snapshot() == {"d/file": b"sound", "d/file.cut-5": b"torn"}


def test_an_earlier_copy_is_never_overwritten() -> None:
    files = MemoryFiles()
    files.put("file", b"soundtorn")
    files.put("file.cut-5", b"earlier")
    assert cut(files, "file", 5) == "file.cut-5-2"
    assert files.snapshot()["file.cut-5"] == b"earlier"


@pytest.mark.parametrize("call", range(1, 7))
def test_a_file_is_cut_only_when_its_copy_is_on_disk(call: int) -> None:
    files = MemoryFiles()
    files.put("file", b"soundtorn")
    files.fail("any", errno.EIO, at=call)
    with pytest.raises(OSError, match="Input/output error"):
        cut(files, "file", 5)
    after = files.crash().snapshot()
    assert after["file"] == b"soundtorn"
