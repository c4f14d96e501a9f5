"""A place of back-ups: a folder; tests/rillway/pipeline/archive/files/ has object stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.backup.manifest import BackupError
from rillway.backup.store import FolderStore, content_of, open_store


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "to")


def test_only_the_owner_may_read_it(store: FolderStore) -> None:
    store.write("a/b/c", [b"one", b"two"])
    file = Path(store.place, "a/b/c")
    assert content_of(store, "a/b/c") == b"onetwo"
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent)] == [0o600, 0o700]


def test_a_file_is_never_overwritten_but_put_replaces_it(store: FolderStore) -> None:
    store.write("a/b", [b"one"])
    with pytest.raises(FileExistsError):
        store.write("a/b", [b"two"])
    store.put("a/b", b"three")
    assert content_of(store, "a/b") == b"three"
    assert store.names("a") == ["b"]


def test_a_link_is_the_open_file_or_none(store: FolderStore, tmp_path: Path) -> None:
    source = tmp_path / "base"
    source.write_bytes(b"old")
    with source.open("rb") as file:
        assert store.link(file.fileno(), str(source), "a/first")
        source.unlink()
        source.write_bytes(b"new")  # of the same name
        assert not store.link(file.fileno(), str(source), "a/second")
        source.unlink()
        assert not store.link(file.fileno(), str(source), "a/third")
    assert content_of(store, "a/first") == b"old"
    assert store.names("a") == ["first"]


def test_a_copy_within_the_place_stays_when_the_first_is_removed(store: FolderStore) -> None:
    store.write("a/b", [b"one"])
    store.copy("a/b", "c/d")
    store.remove("a")
    assert not store.has("a/b") and content_of(store, "c/d") == b"one"
    assert store.names() == ["c"] and store.names("nowhere") == []


def test_a_folder_has_no_storage_options(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="a folder has no storage options"):
        open_store(str(tmp_path), {"aws_region": "x"})
    with pytest.raises(BackupError, match="local folder, or one of s3"):
        open_store("ftp://a/b", {})
