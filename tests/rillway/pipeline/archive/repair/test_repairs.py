"""Repairs, and that archiving goes on after them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rillway.pipeline.archive.earlier.adding import ServerOrigin
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.store import LogDamaged, Store, store_of
from rillway.pipeline.archive.identity.state_files import StateCommit, write_records
from rillway.pipeline.archive.repair import repairs
from rillway.pipeline.archive.repair.findings import check_table, file_damage
from rillway.pipeline.archive.repair.repairs import repair
from rillway.pipeline.archive.repair.rows import check_live
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.conftest import GOOGLES_THOROUGH, ObjectStore
from tests.rillway.pipeline.archive.repair.damages import (
    LAST,
    Harm,
    append,
    beginning_lost,
    checkpoint,
    clean_up,
    cut,
    cut_after_a_line,
    first_file,
    flip,
    flip_in_a_page,
    log,
    make_archive,
    state_file,
)
from tests.rillway.pipeline.archive.scene import (
    DAY_MS,
    STREAM,
    add_many,
    archive,
    archived_ids,
    written,
)


@pytest.mark.parametrize(
    "harm",
    [
        lambda root: cut(log(root)),
        lambda root: cut_after_a_line(log(root)),
        lambda root: log(root).write_bytes(b""),
        lambda root: cut(log(root, 5)),
        lambda root: log(root, 5).unlink(),
        lambda root: cut(checkpoint(root)),
        lambda root: flip(checkpoint(root), -20),
        lambda root: checkpoint(root).unlink(),
        lambda root: state_file(root).unlink(),
        lambda root: cut(state_file(root)),
    ],
)
def test_nothing_is_lost_that_is_known_twice(root: Path, harm: Harm) -> None:
    """Versions are made again from states, checkpoints from versions, states from rows."""
    before = ArchiveTable.open(root)
    expected = archived_ids(before), before.files(), before.end(STREAM)
    harm(root)
    outcome = repair(store_of(root))
    assert outcome.done and not outcome.left
    table = ArchiveTable.open(root)
    assert check_table(table)[0] == []
    assert (archived_ids(table), table.files()) == expected[:2]
    end = table.end(STREAM)
    assert end is not None and expected[2] is not None and end.id == expected[2].id
    assert repair(store_of(root)).done == []


def test_a_commit_that_nothing_else_knows_is_given_up(root: Path) -> None:
    state_file(root).unlink()
    cut(log(root))
    outcome = repair(store_of(root))
    assert "the table is back at version 5" in outcome.done[0]
    table = ArchiveTable.open(root)
    assert table.version == LAST - 1 and len(table.files()) == 5 and check_table(table)[0] == []
    assert (root / "_rillway" / "damaged" / f"_delta_log.{LAST:020d}.json").is_file()


def test_versions_after_a_damaged_one_are_only_given_up_if_that_is_wanted(root: Path) -> None:
    state_file(root, behind=1).unlink()
    cut(log(root, 5))
    outcome = repair(store_of(root))
    assert not outcome.done and "--go-back gives up versions 5 to 6" in outcome.left[0]
    assert repair(store_of(root), goes_back=True).left == []
    assert ArchiveTable.open(root).version == 4


def test_the_state_of_an_archiver_that_stopped_makes_no_version_again(root: Path) -> None:
    """What it had read is archived by the version that came after the damaged one."""
    table = ArchiveTable.open(root)
    entries = [[b"%d-0" % (3 * DAY_MS), [b"n", b"1"]]]
    table.write_state(table.records, written(table, entries))
    table.replace([], [])
    append(table, STREAM, f"{3 * DAY_MS}-0")
    expected = archived_ids(table)
    cut(log(root, LAST + 1))
    outcome = repair(store_of(root))
    assert not outcome.done and "no state describes it" in outcome.left[0]
    cut(log(root, LAST + 2))
    cut(log(root, LAST))
    repair(store_of(root), goes_back=True)
    assert archived_ids(ArchiveTable.open(root)) == expected[:-1]


def test_of_several_states_the_one_that_was_named_makes_a_version_again(root: Path) -> None:
    """One of an archiver that stopped, and one of another that came second."""
    table = ArchiveTable.open(root)
    for _ in range(2):
        table.write_state(table.records, written(table, [[b"9-0", [b"n", b"1"]]]))
    append(table, STREAM, f"{3 * DAY_MS}-0")
    append(table, STREAM, f"{3 * DAY_MS}-1")
    append(table, STREAM, f"{3 * DAY_MS}-2")
    cut(log(root, LAST + 1))
    cut(log(root, LAST + 2))
    assert repair(store_of(root)).left == []
    assert archived_ids(ArchiveTable.open(root)) == archived_ids(table)


def test_an_expiry_is_not_made_again_as_if_it_had_added_nothing(root: Path) -> None:
    table = ArchiveTable.open(root)
    table.expire(table.files()[:1], [], table.write_state({}, None))
    cut(log(root, LAST + 1))
    assert f"the table is back at version {LAST}" in repair(store_of(root)).done[0]
    assert len(ArchiveTable.open(root).files()) == 6


def test_a_version_with_a_checkpoint_may_be_damaged(root: Path) -> None:
    table = ArchiveTable.open(root)
    table.checkpoint()
    cut(log(root))
    assert ArchiveTable.open(root).files() == table.files()
    append(ArchiveTable.open(root), STREAM, f"{3 * DAY_MS}-0")


def test_a_state_with_a_missing_file_rebuilds_no_version(root: Path) -> None:
    table = ArchiveTable.open(root)
    (root / table.files("payments")[-1].path).unlink()
    cut(log(root))
    assert "the table is back at version 5" in repair(store_of(root)).done[0]
    assert check_table(ArchiveTable.open(root))[0] == []


def test_a_state_that_has_lost_to_a_compaction_makes_no_version_again(root: Path) -> None:
    """Its rows would be there twice: as they were, and merged."""
    table = ArchiveTable.open(root)
    compact(table, vacuum_after_hours=None)
    for stream in ("orders", "payments"):
        append(table, stream, "3-5")
    compact(table, vacuum_after_hours=None)
    last = table.version
    # As an archiver writes one before it finds that version 7 is taken.
    write_records(table.store, table.records, StateCommit(table.id, LAST + 1))
    cut(log(root, LAST + 1))
    outcome = repair(store_of(root))
    assert f"--go-back gives up versions {LAST + 1} to {last}" in outcome.left[0]
    assert repair(store_of(root), goes_back=True).left == []
    assert len(ArchiveTable.open(root).files()) == 6


@pytest.mark.parametrize(
    "harm",
    [
        lambda root: cut(checkpoint(root)),
        lambda root: flip(checkpoint(root), -20),
        lambda root: checkpoint(root).unlink(),
    ],
)
def test_a_log_without_its_beginning_goes_on_from_the_copy_of_a_checkpoint(
    root: Path, harm: Harm
) -> None:
    before = ArchiveTable.open(root)
    clean_up(root)
    log(root, 4).unlink()
    harm(root)
    with pytest.raises(LogDamaged, match="restores a checkpoint from its copy"):
        ArchiveTable.open(root)
    outcome = repair(store_of(root))
    assert "the checkpoint of version 4 was restored from its copy" in outcome.done
    table = ArchiveTable.open(root)
    assert (table.files(), table.records) == (before.files(), before.records)
    assert check_table(table)[0] == [] and table.id == before.id


def test_a_copy_of_a_checkpoint_that_is_too_old_is_not_put_back(root: Path) -> None:
    clean_up(root)
    for version in (4, 5):
        log(root, version).unlink()
    checkpoint(root).unlink()
    assert "from a backup" in repair(store_of(root)).left[0]


def test_a_log_without_its_beginning_is_left_as_it_is(root: Path) -> None:
    beginning_lost(root)
    outcome = repair(store_of(root))
    assert not outcome.done and "from a backup" in outcome.left[0]
    assert checkpoint(root).is_file()
    with pytest.raises(LogDamaged):
        ArchiveTable.open(root)


@pytest.mark.parametrize(
    ("harm", "reads_rows"),
    [
        (lambda path: path.unlink(), False),
        (cut, False),
        (lambda path: flip(path, -30), False),
        (flip_in_a_page, True),
    ],
)
def test_files_go_only_if_that_is_wanted(root: Path, harm: Harm, *, reads_rows: bool) -> None:
    path = first_file(root)
    harm(path)
    was_there = path.is_file()
    outcome = repair(store_of(root), reads_rows=reads_rows)
    assert not outcome.done and "3 rows of orders, IDs from 1-* to 3-*" in outcome.left[0]
    assert "--drop-files" in outcome.left[1]
    assert len(ArchiveTable.open(root).files()) == 6
    outcome = repair(store_of(root), drops_files=True, reads_rows=reads_rows)
    assert not outcome.left and "3 rows of orders" in outcome.done[0]
    table = ArchiveTable.open(root)
    assert len(table.files()) == 5 and len(archived_ids(table)) == 6
    aside = root / "_rillway" / "damaged" / f"date=1970-01-01.{path.name}"
    assert aside.is_file() == was_there


def test_a_lost_state_and_a_lost_file_are_put_right_in_order(root: Path) -> None:
    state_file(root).unlink()
    first_file(root).unlink()
    outcome = repair(store_of(root))
    assert "it can be rebuilt when no file is missing" in outcome.left[-1]
    assert repair(store_of(root), drops_files=True).left == []
    assert check_table(ArchiveTable.open(root))[0] == []


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="there is no such folder"):
        repair(store_of(tmp_path / "archive"))


def test_archiving_goes_on_with_a_state_that_was_made_again(
    redis_link: Connection, table: ArchiveTable
) -> None:
    add_many(redis_link, 10)
    archive(redis_link, table)
    add_many(redis_link, 10, 11)
    archive(redis_link, table)
    state_file(table.root).unlink()
    repair(store_of(table.root))
    add_many(redis_link, 10, 21)
    again = ArchiveTable.open(table.root)
    report = archive(redis_link, again)
    assert (report.archived, report.remaining) == (10, 1)
    assert archived_ids(again) == [f"{n}-0" for n in range(1, 31)]
    state = again.state(STREAM)
    assert state is not None and len(state.epochs) == 1


def test_entries_of_a_lost_file_that_are_in_memory_are_filled_in_again(
    redis_link: Connection, table: ArchiveTable
) -> None:
    add_many(redis_link, 10)
    archive(redis_link, table, trims=False)
    add_many(redis_link, 10, 11)
    archive(redis_link, table, trims=False)
    (table.root / table.files()[1].path).unlink()
    assert repair(store_of(table.root), drops_files=True).left == []
    again = ArchiveTable.open(table.root)
    assert "11-0 is in memory, and lost in the archive" in check_live(redis_link, again)[0].text
    report = archive(redis_link, again)
    assert (report.archived, report.trimmed, report.epoch) == (0, 10, 1)
    assert "11-0 and what follows stays in memory" in report.notes[0]
    assert repair(store_of(table.root), origin=ServerOrigin(redis_link)).left == []
    again.refresh()
    assert archived_ids(again) == [f"{n}-0" for n in range(1, 21)]
    assert check_live(redis_link, again) == []
    assert archive(redis_link, again).remaining == 1


@GOOGLES_THOROUGH
def test_a_log_in_an_object_store_is_repaired(object_store: ObjectStore) -> None:
    store = store_of(object_store.uri, object_store.options)
    table = make_archive(store)
    path = f"_delta_log/{LAST:020d}.json"
    with store.filesystem.open_input_stream(path) as file:
        content = file.read()
    with store.filesystem.open_output_stream(path, buffer_size=1 << 16) as file:
        file.write(content[:100])
    store.remove(table.files(STREAM)[0].path)
    with pytest.raises(LogDamaged, match="it is cut off or overwritten"):
        ArchiveTable.open(store)
    outcome = repair(store, drops_files=True)
    assert len(outcome.done) == 3 and not outcome.left
    again = ArchiveTable.open(store)
    assert len(again.files()) == 5 and check_table(again)[0] == []


# -- with others at work --------------------------------------------------------------------------


def stop_after(monkeypatch: pytest.MonkeyPatch, step: str, action: Callable[[], object]) -> None:
    """Have a repair do something after a step of it, the first time that it gets there."""
    original = getattr(repairs, step)
    left = [action]

    def stepped(*arguments: object, **named: object) -> object:
        try:
            return original(*arguments, **named)
        finally:
            if left:
                left.pop()()

    monkeypatch.setattr(repairs, step, stepped)


LOOKS = "open_delta", "read_log"
WRITES = "read_commit", "_write_version", "sync_log"


@pytest.mark.parametrize(
    ("harm", "step"),
    [
        *((lambda root: cut(log(root)), step) for step in (*LOOKS, *WRITES)),
        *((lambda root: log(root, 5).unlink(), step) for step in (*LOOKS, *WRITES)),
        *((lambda root: cut(checkpoint(root)), step) for step in (*LOOKS, "set_aside")),
        *(
            (lambda root: state_file(root).unlink(), step)
            for step in ("file_damage", "check_state", "rebuilt")
        ),
        *(
            (lambda root: first_file(root).unlink(), step)
            for step in ("file_damage", "set_aside", "_drop", "check_state")
        ),
    ],
)
def test_no_commit_of_another_is_lost_at_any_step(
    root: Path, harm: Harm, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one opened the archive before the damage."""
    other = ArchiveTable.open(root)
    assert other.records  # as an archiver has them in memory
    harm(root)
    expected = archived_ids(other) if (root / other.files(STREAM)[0].path).is_file() else []
    new = [f"{3 * DAY_MS + n}-0" for n in range(2)]

    def archive_two() -> None:
        for entry_id in new:
            append(other, STREAM, entry_id)

    stop_after(monkeypatch, step, archive_two)
    outcome = repair(store_of(root), drops_files=True)
    assert not outcome.left
    table = ArchiveTable.open(root)
    assert check_table(table)[0] == []
    found = archived_ids(table)
    assert len(found) == len(set(found))
    committed = {entry_id for entry_id in new if other.version > LAST}
    assert set(found) >= {*expected, *committed}


@pytest.mark.parametrize("step", LOOKS)
def test_a_version_that_is_given_up_comes_back_if_another_has_committed_on_top_of_it(
    root: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the state that the later one names. Of two for one version alone none is known."""
    other = ArchiveTable.open(root)
    other.write_state({})
    append(other, STREAM, f"{3 * DAY_MS}-0")
    assert other.records
    cut(log(root, LAST + 1))
    stop_after(monkeypatch, step, lambda: append(other, STREAM, f"{3 * DAY_MS}-1"))
    outcome = repair(store_of(root))
    assert not outcome.left and not any("until --new-epoch" in text for text in outcome.done)
    table = ArchiveTable.open(root)
    assert check_table(table)[0] == []
    assert [archived_ids(table)[-2:], table.version] == [
        [f"{3 * DAY_MS}-0", f"{3 * DAY_MS}-1"],
        LAST + 2,
    ]


def test_no_writer_commits_on_top_of_a_version_that_was_given_up(root: Path) -> None:
    other = ArchiveTable.open(root)
    other.write_state({})
    append(other, STREAM, f"{3 * DAY_MS}-0")
    assert other.records
    cut(log(root, LAST + 1))
    assert f"the table is back at version {LAST}" in repair(store_of(root)).done[0]
    with pytest.raises(ArchiveError):
        append(other, STREAM, f"{3 * DAY_MS}-1")
    assert ArchiveTable.open(root).version == LAST


def test_files_that_another_has_removed_meanwhile_are_not_dropped(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ArchiveTable.open(root)
    [lost] = other.files(STREAM)[:1]
    (root / lost.path).unlink()
    stop_after(monkeypatch, "file_damage", lambda: other.expire([lost], [], None))
    outcome = repair(store_of(root), drops_files=True)
    assert outcome == repairs.Repaired()
    assert ArchiveTable.open(root).version == other.version


def test_each_file_is_checked_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def counted(store: Store, file: ArchivedFile) -> str:
        looked.append(file.path)
        return file_damage(store, file)

    monkeypatch.setattr(repairs, "file_damage", counted)
    state_file(root).unlink()
    first_file(root).unlink()
    assert repair(store_of(root), drops_files=True).left == []
    assert len(looked) == len(set(looked)) == 6
