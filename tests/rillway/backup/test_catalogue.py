"""The back-ups of a place: the newest finished one, and those that are removed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rillway.backup.catalogue import find, name_at, names, remove_old
from rillway.backup.manifest import SNAPSHOT, Backup, BackupError, Node
from rillway.backup.retention import parse_keep
from rillway.backup.store import FolderStore

NOW_MS = round(datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp() * 1000)

NODE = Node(*("server", "redis://a", "Rillway 0.1.0", "primary", SNAPSHOT, 1, "f" * 40, 7), {})


def days_ago(days: float) -> str:
    return name_at(NOW_MS - round(timedelta(days=days).total_seconds() * 1000))


def make(store: FolderStore, days: float, *, finished: bool = True, checked: str = "") -> str:
    name = days_ago(days)
    store.make(name)
    store.put(f"{name}/begun.json", json.dumps({"began_ms": 1_764_000_000_000}).encode())
    if finished:
        store.put(f"{name}/backup.json", Backup(name, 0, 0, "0", [NODE]).dump())
    if checked:
        findings = [checked] if checked != "sound" else []
        store.put(f"{name}/checked.json", json.dumps({"findings": findings}).encode())
    return name


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "to")


def test_the_newest_that_was_finished_is_found(store: FolderStore) -> None:
    make(store, 3)
    second = make(store, 2)
    make(store, 1, finished=False)
    assert find(store)[0] == second
    one = FolderStore(Path(store.place, second))
    assert find(one) == ("", Backup(second, 0, 0, "0", [NODE]))


def test_if_none_was_finished_the_reason_is_that_of_the_last(store: FolderStore) -> None:
    last = make(store, 1, finished=False)
    with pytest.raises(BackupError, match=rf"{last} was begun at 2025-11-24T16:00:00Z and was not"):
        find(store)


def test_old_ones_are_removed_but_not_the_last_that_was_checked(store: FolderStore) -> None:
    old = make(store, 40, checked="sound")
    checked = make(store, 30, checked="sound")
    broken = make(store, 20, checked="a finding")
    stuck, running = (make(store, days, finished=False) for days in (2, 0.5))
    newest = make(store, 0.2)
    (Path(store.place) / "other").mkdir()
    assert sorted(remove_old(store, parse_keep("7d"), NOW_MS)) == [old, broken, stuck]
    assert names(store) == [checked, running, newest]
    assert "other" in store.names()


def test_a_removal_that_is_interrupted_leaves_an_unfinished_one(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = make(store, 40)
    make(store, 1)

    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        remove_old(store, parse_keep("7d"), NOW_MS)
    with pytest.raises(BackupError, match="was not finished"):
        find(FolderStore(Path(store.place, name)))


def test_a_folder_that_was_renamed_is_read_under_its_own_name(store: FolderStore) -> None:
    old, new = make(store, 1), days_ago(0.5)
    Path(store.place, old).rename(Path(store.place, new))
    name, backup = find(store)
    assert (name, backup.name) == (new, new)
