"""Files of a node in a back-up: linked, copied, or taken from an earlier one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.backup.copying import Target, copy_files
from rillway.backup.manifest import Node, StoredFile
from rillway.backup.source import Moment, OpenFile
from rillway.backup.store import FolderStore
from rillway.restore.restoring import contents


class Copies:
    """Back-ups of one folder with a base and an increment, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.store = FolderStore(folder / "to")
        self.base, self.increment = folder / "a.1.base.rdb", folder / "a.1.incr.aof"
        self.base.write_bytes(b"base" * 100)
        self.increment.write_bytes(b"one,")
        self._number = 0
        self._earlier: Node | None = None

    def take(self, size: int, *, incremental: bool = True) -> tuple[list[StoredFile], int]:
        """Copy the first bytes of the increment and the base; returns the bytes written."""
        self._number += 1
        target = Target(self.store, str(self._number), "server", str(self._number - 1))
        target.earlier = self._earlier if incremental else None
        with self.base.open("rb") as base, self.increment.open("rb") as increment:
            files = [
                OpenFile("d/base", str(self.base), base.fileno(), 400, True),
                OpenFile("d/incr", str(self.increment), increment.fileno(), size, False),
            ]
            copied = copy_files(Moment({}, files), target)
        self._earlier = Node(*("server", "", "", "", "", 0, "", 0), databases={}, files=copied)
        return copied, target.new_bytes

    def read(self, file: StoredFile) -> bytes:
        return b"".join(contents(self.store, f"{self._number}/", file))


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path)


def test_a_base_is_linked_and_an_increment_copied_to_the_end_of_a_request(copies: Copies) -> None:
    copies.increment.write_bytes(b"one,two,th")
    (base, increment), written = copies.take(8)
    place = Path(copies.store.place, "1/server/d")
    assert (place / "base").samefile(copies.base)
    assert (place / "incr").read_bytes() == b"one,two,"
    assert not (place / "incr").samefile(copies.increment)
    assert written == 8
    assert copies.read(base) == b"base" * 100 and copies.read(increment) == b"one,two,"


def test_only_what_is_new_is_written(copies: Copies) -> None:
    copies.take(4)
    copies.increment.write_bytes(b"one,two,")
    _, written = copies.take(4)
    assert written == 0  # it has grown since, but not by what belongs to this moment
    (_, increment), written = copies.take(8)
    assert written == 4
    assert [piece.path for piece in increment.pieces] == ["server/d/incr", "server/d/incr@4"]
    copies.increment.write_bytes(b"one,two,three,")
    (_, increment), written = copies.take(14)
    assert written == 6
    assert copies.read(increment) == b"one,two,three,"


def test_a_file_that_was_made_again_in_the_same_place_is_not_mistaken(copies: Copies) -> None:
    copies.take(4)
    copies.increment.write_bytes(b"ONE,two,")
    (_, increment), written = copies.take(8)
    assert written == 8
    assert copies.read(increment) == b"ONE,two,"


def test_a_base_of_another_rewrite_is_not_mistaken(copies: Copies) -> None:
    copies.take(4)
    copies.base.unlink()
    copies.base.write_bytes(b"BASE" * 100)
    (base, _), _ = copies.take(4)
    assert copies.read(base) == b"BASE" * 100


def test_without_an_earlier_one_all_is_written(copies: Copies) -> None:
    copies.take(4)
    assert copies.take(4, incremental=False)[1] == 4


def test_an_empty_increment_is_a_file(copies: Copies) -> None:
    copies.increment.write_bytes(b"")
    (_, increment), _ = copies.take(0)
    assert len(increment.pieces) == 1 and copies.read(increment) == b""
    copies.increment.write_bytes(b"one,")
    (_, increment), _ = copies.take(4)
    assert len(increment.pieces) == 1 and copies.read(increment) == b"one,"


def test_what_an_earlier_one_has_lost_is_copied(copies: Copies) -> None:
    copies.take(4)
    Path(copies.store.place, "1/server/d/incr").unlink()
    (_, increment), written = copies.take(4)
    assert written == 4
    assert copies.read(increment) == b"one,"


def test_a_file_that_became_shorter_ends_the_back_up(copies: Copies) -> None:
    with pytest.raises(OSError, match="has become shorter"):
        copies.take(5)
