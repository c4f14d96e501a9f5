"""Sentences about a log that deltalake cannot read, or reads although it is damaged."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from rillway.pipeline.archive.files import log_files
from rillway.pipeline.archive.files.log_files import kept_checkpoints, read_log
from rillway.pipeline.archive.files.opening import NoArchive
from rillway.pipeline.archive.files.store import LogDamaged, store_of
from rillway.pipeline.archive.table import (
    CHECKPOINT_INTERVAL,
    ArchiveError,
    ArchiveTable,
)
from tests.rillway.pipeline.archive.repair.damages import (
    LAST,
    Harm,
    append,
    beginning_lost,
    checkpoint,
    clean_up,
    cut,
    cut_after_a_line,
    flip,
    log,
)
from tests.rillway.pipeline.archive.scene import STREAM


def test_a_whole_log_is_whole(root: Path) -> None:
    found = read_log(store_of(root))
    assert not found.is_damaged and found.last == found.last_whole == LAST
    assert found.checkpoints == (4,)
    clean_up(root)
    assert not read_log(store_of(root)).is_damaged
    log(root, 2).write_bytes(b"")
    assert not read_log(store_of(root)).is_damaged
    assert ArchiveTable.open(root).version == LAST


@pytest.mark.parametrize(
    ("harm", "reason", "remedy"),
    [
        (
            lambda root: cut(log(root)),
            "6.json: it is cut off",
            "rebuilds version 6, or goes back to 5",
        ),
        (lambda root: cut_after_a_line(log(root)), "it has 0 of 2 actions", "goes back to 5"),
        (lambda root: log(root).write_bytes(b""), "it is empty", "goes back to 5"),
        (lambda root: log(root).write_bytes(bytes(99)), "it is cut off", "goes back to 5"),
        (lambda root: cut(log(root, 5)), "5.json: it is cut off", "versions up to 4 are intact"),
        (
            lambda root: log(root, 5).unlink(),
            "5.json: it is missing",
            "versions up to 4 are intact",
        ),
        (lambda root: cut(checkpoint(root)), "it is cut off", "makes a new checkpoint"),
        (lambda root: flip(checkpoint(root), -20), "Parquet error", "makes a new checkpoint"),
        (lambda root: checkpoint(root).unlink(), "it names version 4", "makes a new checkpoint"),
        (beginning_lost, "up to version 3", "from a backup"),
    ],
)
def test_damage_is_a_sentence(root: Path, harm: Harm, reason: str, remedy: str) -> None:
    """It says where, what is safe, and what to do."""
    harm(root)
    with pytest.raises(LogDamaged) as raised:
        ArchiveTable.open(root)
    text = str(raised.value)
    assert text.startswith(f"{root}: the log is damaged: _delta_log/") and "\n" not in text
    assert reason in text and "The files with the rows are not affected" in text
    assert remedy in text and len(text) < 700


def test_a_version_that_is_damaged_while_a_table_is_open_is_one_too(root: Path) -> None:
    table = ArchiveTable.open(root)
    log(root, LAST + 1).write_bytes(b'{"add":')
    with pytest.raises(LogDamaged, match=r"7\.json: it is cut off"):
        table.refresh()


def remove_contents(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        (shutil.rmtree, "there is no such folder"),
        (remove_contents, "the folder has no _delta_log"),
        (lambda root: shutil.rmtree(root / "_delta_log"), "Still there: 6 files with rows"),
        (lambda root: remove_contents(root / "_delta_log"), "Still there: 6 files with rows"),
    ],
)
def test_a_missing_table_is_a_sentence(root: Path, harm: Harm, text: str) -> None:
    harm(root)
    with pytest.raises(NoArchive, match=text):
        ArchiveTable.open(root)


def test_no_archive_is_begun_among_the_files_of_another(root: Path) -> None:
    shutil.rmtree(root / "_delta_log")
    with pytest.raises(ArchiveError, match="Still there: 6 files with rows"):
        ArchiveTable.open_or_create(root)


def test_a_checkpoint_may_come_while_the_log_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is read after the list, and names what is not in that."""
    table = ArchiveTable.open(root)
    monkeypatch.setattr(log_files, "CHECKPOINT", re.compile(r"(none of)(\d)"))
    table.checkpoint()
    assert not read_log(table.store).is_damaged
    assert not read_log(table.store).checkpoints


def test_the_last_checkpoint_has_a_copy_from_the_next_tidying_on(table: ArchiveTable) -> None:
    for number in range(1, 2 * CHECKPOINT_INTERVAL + 2):
        append(table, STREAM, f"{number}-0")
        table.tidy()
        checkpoints = read_log(table.store).checkpoints
        assert kept_checkpoints(table.store) == list(checkpoints[-1:])
    assert len(checkpoints) == 2
