"""Fields without a column."""

from __future__ import annotations

from collections import Counter

import pytest

from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.columns.uncovered import uncovered
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.client.connection import Connection


def test_names_are_counted_and_shown(
    rillway_link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    link = rillway_link
    link.call("XADD", "o", "1-0", "amount", "007", "note", "x")
    link.call("XADD", "o", "2-0", "amount", "1.00", "note", "y", b"\xff", "z")
    link.call("XADD", "misc", "1-0", "a", "b")
    assert uncovered(table, ["o", "misc"], table.files()) == {}
    place = ["--to", str(table.root), "--url", link.url]
    schema = ["--schema", "o=amount DECIMAL(10,2)"]
    assert main(["--stream", "o", "--stream", "misc", *schema, *place]) == 0
    table.refresh()
    assert uncovered(table, ["o", "misc"], table.files()) == {
        "o": Counter({b"note": 2, b"\xff": 1})
    }
    set_columns(table, from_options(["o=amount DECIMAL(10,2), note STRING"]))
    assert uncovered(table, ["o"], table.files()) == {"o": Counter({b"\xff": 1})}
    capsys.readouterr()
    assert main(["status", *place]) == 0
    assert "without a column: \\xff (1)" in capsys.readouterr().out
