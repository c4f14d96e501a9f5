"""How a history is divided among Spark's tasks, whose parts are read here without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query import spark_rows
from rillway.pipeline.query.history import open_history
from rillway.pipeline.query.spark_rows import HistoryReader, parts
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import archive
from tests.rillway.pipeline.scene import add_many, ids_of

STREAM = "orders"


@pytest.mark.parametrize("compacts", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_all_parts_together_have_each_entry_once(
    link: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
    *,
    compacts: bool,
) -> None:
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    for first in (1, 21, 41):
        add_many(link, STREAM, 20, first)
        archive(link, table)
    if compacts:
        DeltaTable(table.root).optimize.compact()
    add_many(link, STREAM, 20, 61)
    monkeypatch.setattr(spark_rows, "TASK_ROWS", rows)
    with open_history(link.url, STREAM, table.root) as history:
        found = list(parts(history))
        reader = HistoryReader(history)
        read = [ids_of(reader.read(part)) for part in found]
        assert [one for part in read for one in part] == [f"{n}-0" for n in range(1, 81)]
        assert len(found) > 1
        assert max(map(len, read)) <= max(20, 3 * rows)
