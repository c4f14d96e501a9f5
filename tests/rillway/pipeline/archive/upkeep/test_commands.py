"""`rillway archive compact`, `expire` and `upkeep` as a person uses them, without a server."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.identity.state_files import KEPT_FILES
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.commands import keep_up
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, archived_ids
from tests.rillway.pipeline.archive.upkeep.test_compaction import append, days

NO_SERVER = "redis://127.0.0.1:1"


def test_each_says_what_it_did(table: ArchiveTable, capsys: pytest.CaptureFixture[str]) -> None:
    for day in (0, 0, 1, 1):
        append(table, f"{day * DAY_MS + table.version}-0")
    words = ["--to", str(table.root), "--url", NO_SERVER]
    assert main(["compact", *words]) == 0
    assert capsys.readouterr().out.startswith("4 files became 2; 4 rows, ")
    assert main(["compact", *words]) == 0
    out = capsys.readouterr().out
    assert out.startswith("nothing to merge: 2 files, ")
    assert main(["expire", *words, "--before", "1970-01-01"]) == 0
    assert "no file is wholly from before 1970-01-01" in capsys.readouterr().out
    assert main(["expire", *words, "--before", "1970-01-02", "--vacuum-after", "0s"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 rows from before 1970-01-02 removed, 1 file, ")
    assert "; 5 files deleted that were no longer in use" in out


def test_upkeep_does_all_of_it(table: ArchiveTable, capsys: pytest.CaptureFixture[str]) -> None:
    for n in range(3):
        append(table, f"{n + 1}-0")
    words = ["upkeep", "--to", str(table.root), "--url", NO_SERVER]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 files became 1; ") and lines[1:] == [
        f"version {table.version + 1} has a checkpoint"
    ]
    assert main([*words, "--expire-after", "90d"]) == 0
    assert "3 rows from before " in capsys.readouterr().out
    assert main([*words, "--expire-after", "0s"]) == 0
    assert "from before" not in capsys.readouterr().out


def test_upkeep_leaves_a_damaged_archive_alone(
    table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    append(table, "1-0")
    Path(table.root / table.files()[0].path).unlink()
    assert main(["upkeep", "--to", str(table.root)]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "is missing: 1 row of orders" in printed.err
    assert "rillway archive repair" in printed.err


__all__ = ["days"]
NOW = datetime(1970, 1, 4, 12, tzinfo=UTC)


def checkpoints(table: ArchiveTable) -> list[Path]:
    return sorted((table.root / "_delta_log").glob("*.checkpoint.parquet"))


def test_files_are_merged_and_the_log_has_a_checkpoint(days: ArchiveTable) -> None:
    before = archived_ids(days)
    done = keep_up(days, NOW)
    assert done.compacted is not None and done.compacted.files_before == 5
    assert done.expired is None and archived_ids(days) == before
    assert checkpoints(days)[-1].name.startswith(f"{days.version:020d}.")
    again = keep_up(days, NOW)
    assert again.compacted is not None and again.compacted.files_before == again.vacuumed == 0


def test_rows_expire_after_the_time_that_the_table_has(days: ArchiveTable) -> None:
    assert days.expire_after is None
    days.set_expire_after(2 * DAY_MS / 1000)
    table = ArchiveTable.open(days.root)
    assert table.expire_after == 172_800
    done = keep_up(table, NOW)
    assert str(done.before) == "1970-01-02" and done.expired is not None
    assert done.expired.rows == 6 and len(archived_ids(table)) == 6
    table.set_expire_after(None)
    assert keep_up(ArchiveTable.open(days.root), datetime(1971, 1, 1, tzinfo=UTC)).expired is None


def test_nothing_is_touched_in_a_damaged_archive(days: ArchiveTable) -> None:
    (days.root / days.files(STREAM)[0].path).unlink()
    version = days.version
    done = keep_up(days, NOW, vacuum_after_hours=0)
    assert [finding.text[:10] for finding in done.findings] == ["is missing"]
    assert done.compacted is None and days.version == version and not checkpoints(days)


def test_an_interruption_ends_it_between_two_steps(days: ArchiveTable) -> None:
    days.set_expire_after(1)
    done = keep_up(days, NOW, is_interrupted=lambda: True)
    assert done.expired is None and not checkpoints(days)


def test_old_states_go_and_the_newest_stay(days: ArchiveTable) -> None:
    for n in range(30):
        append(days, f"{9 * DAY_MS + n}-0")
    states = list((days.root / "_rillway").iterdir())
    for path in states:
        path.touch()
    assert keep_up(days, NOW).vacuumed == 0, "they are of this day"
    for path in states:
        os.utime(path, (0, 0))
    # The one that the log names is not among the newest, or it is.
    assert keep_up(days, NOW).vacuumed in (len(states) - KEPT_FILES - 1, len(states) - KEPT_FILES)
    assert archived_ids(ArchiveTable.open(days.root))
