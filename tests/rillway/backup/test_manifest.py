"""The manifest of a back-up: whole, or refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.backup.manifest import (
    APPEND_ONLY,
    SNAPSHOT,
    Backup,
    BackupError,
    Generation,
    Node,
    Piece,
    StoredFile,
    load,
)

FILE = StoredFile("appendonlydir/a", (Piece("server/a", 5, "ab"), Piece("server/a@5", 2, "cd")))
NODE = Node(
    *("server", "redis://a", "Rillway 0.1.0", "primary", APPEND_ONLY, 1_000, "f" * 40, 7),
    databases={"0": [3, 1]},
    file_name="appendonly.aof",
    folder="appendonlydir",
    files=[FILE],
    kept=[Generation(900, "file a seq 1 type b\n", ("appendonlydir/kept/a",))],
)
WHOLE = Backup("20261124T140300.000Z", 1, 2, "0.1.0", [NODE]).dump()


def test_it_is_read_as_it_was_written() -> None:
    assert load(WHOLE, "here") == Backup("20261124T140300.000Z", 1, 2, "0.1.0", [NODE])
    assert FILE.bytes == 7


@given(st.integers(0, len(WHOLE) * 8 - 1))
def test_every_changed_bit_is_noticed(bit: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BackupError, match="here"):
        load(bytes(damaged), "here")


def test_a_cut_one_is_damaged_and_a_newer_one_is_named_as_such() -> None:
    with pytest.raises(BackupError, match="cannot be read"):
        load(WHOLE[:-10], "here")
    newer = json.loads(WHOLE) | {"format": 2}
    with pytest.raises(BackupError, match="of a newer Rillway"):
        load(json.dumps(newer).encode(), "here")


@pytest.mark.parametrize(
    ("kind", "file_name", "folder", "words"),
    [
        (APPEND_ONLY, "appendonly.aof", "appendonlydir", "--appendonly yes"),
        (APPEND_ONLY, "a", "appendonlydir", "--appendonly yes --appendfilename a"),
        (APPEND_ONLY, "appendonly.aof", "b", "--appendonly yes --appenddirname b"),
        (SNAPSHOT, "dump.rdb", "", "--dbfilename dump.rdb"),
    ],
)
def test_the_options_of_a_start_name_the_files(
    kind: str, file_name: str, folder: str, words: str
) -> None:
    node = Node(*("server", "a", "b", "primary", kind, 1, "c", 2), databases={})
    node.file_name, node.folder = file_name, folder
    assert " ".join(node.files_options) == words
