"""`rillway archive compact`, `expire` and `upkeep` as a person uses them, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.table import ArchiveTable
from tests.rillway.pipeline.archive.scene import DAY_MS
from tests.rillway.pipeline.archive.upkeep.test_compaction import append

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
    assert "; 5 files deleted that nothing names any more" in out


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
    assert printed.out == "" and "is gone: 1 row of orders" in printed.err
    assert "rillway archive repair" in printed.err
