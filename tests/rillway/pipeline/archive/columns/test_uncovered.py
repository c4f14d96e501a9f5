"""Fields without a column."""

from __future__ import annotations

from collections import Counter

import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns import uncovered as module
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.columns.uncovered import count
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection


def test_names_are_counted_and_shown(
    rillway_link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    link = rillway_link
    link.call("XADD", "o", "1-0", "amount", "007", "note", "x")
    link.call("XADD", "o", "2-0", "amount", "1.00", "note", "y", b"\xff", "z")
    link.call("XADD", "misc", "1-0", "a", "b")
    assert count(table, ["o", "misc"], table.files()).uncovered == {}
    place = ["--to", str(table.root), "--url", link.url]
    schema = ["--schema", "o=amount DECIMAL(10,2)"]
    assert main(["--stream", "o", "--stream", "misc", *schema, *place]) == 0
    table.refresh()
    assert count(table, ["o", "misc"], table.files()).uncovered == {
        "o": Counter({b"note": 2, b"\xff": 1})
    }
    set_columns(table, from_options(["o=amount DECIMAL(10,2), note STRING"]))
    assert count(table, ["o"], table.files()).uncovered == {"o": Counter({b"\xff": 1})}
    capsys.readouterr()
    assert main(["status", *place]) == 0
    assert "without a column: \\xff (1)" in capsys.readouterr().out


def test_rows_from_before_the_columns_count_as_well(
    redis_link: Connection, table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no layout. Rows of many files are counted together."""
    monkeypatch.setattr(module, "GROUPED_ROWS", 3)
    columns = from_options(["o=amount DECIMAL(10,2)"])
    for number in range(6):
        for stream in ("misc", "o"):
            redis_link.call("XADD", stream, f"{number + 1}-0", "amount", "1.00", "note", number)
        if number == 3:
            set_columns(table, columns)
        archiver = Archiver(table, LocalEngine(), ArchiverSettings(redis_link.url))
        assert not archiver.round(["misc", "o"]).failures
    assert len(table.files()) == 6
    counts = count(table, ["misc", "o"], table.files())
    assert counts.rows == {"misc": 6, "o": 6}
    assert counts.uncovered == {"o": {b"note": 6}}
    assert count(table, ["misc"], table.files()[4:]).rows == {"misc": 2}
