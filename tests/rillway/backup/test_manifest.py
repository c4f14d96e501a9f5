"""The manifest of a back-up: whole, or refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

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


def changed(path: str, value: Any) -> bytes:
    """A manifest with one other value, and the digest of that."""
    content = json.loads(WHOLE)
    del content["digest"]
    *places, last = path.split(" ")
    part = content
    for place in places:
        part = part[int(place) if place.isdigit() else place]
    part[int(last) if last.isdigit() else last] = value
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps(content | {"digest": digest}).encode()


@pytest.mark.parametrize(
    "place",
    [
        "nodes 0 name",
        "nodes 0 folder",
        "nodes 0 file_name",
        "nodes 0 manifest",
        "nodes 0 acl_file",
        "nodes 0 files 0 path",
        "nodes 0 files 0 pieces 1 path",
        "nodes 0 kept 0 files 0",
    ],
)
@pytest.mark.parametrize("path", ["/etc/cron.d/a", "..", "a/../../b", "./a", "a//b", "a/", "a\0b"])
def test_paths_that_lead_outside_of_the_folder_are_refused(place: str, path: str) -> None:
    with pytest.raises(BackupError, match="outside of its folder"):
        load(changed(place, path), "here")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("nodes", []),
        ("nodes 0 time_ms", 10**30),
        ("nodes 0 time_ms", "1"),
        ("nodes 0 files 0 path", 5),
        ("nodes 0 files 0 pieces 0 bytes", -1),
        ("nodes 0 databases", {"x": [1, 2]}),
        ("nodes 0 databases", {"0": [1]}),
        ("nodes 0 slots", [[3, 1]]),
        ("nodes 0 slots", [["a", 1]]),
        ("nodes 0 slots", 5),
        ("nodes 0 address", "\x1b[31m"),
    ],
)
def test_values_that_no_backup_has_are_refused(place: str, value: Any) -> None:
    with pytest.raises(BackupError, match="cannot be read"):
        load(changed(place, value), "here")


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
