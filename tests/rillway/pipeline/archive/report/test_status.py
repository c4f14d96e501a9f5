"""The status of streams, from real servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rillway.pipeline.archive.identity import sources
from rillway.pipeline.archive.identity.epochs import Epoch, Source, StreamState
from rillway.pipeline.archive.report.status import (
    StreamStatus,
    as_total,
    current_line_sql,
    find_status,
)
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import (
    STATE,
    STREAM,
    add,
    add_many,
    archive,
    commit,
    written,
)
from tests.support.duckdb_extensions import DELTA, connect


def status(link: Connection, table: ArchiveTable, stream: str = STREAM) -> StreamStatus:
    (found,) = find_status(link, table, [stream], table.files())
    return found


def test_where_a_stream_is(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    assert status(link, table).line() == (
        "orders: 0 entries; archived up to nothing; 10 in memory; 10 not archived yet"
    )
    archive(link, table)
    add(link, "11-0")
    found = status(link, table)
    assert (found.entries, found.end, found.epoch) == (10, parse_id("10-0"), 1)
    assert (found.lag, found.is_counted, found.in_memory) == (1, True, 2)
    assert found.as_json() == {
        "stream": "orders",
        "entries": 10,
        "end": "10-0",
        "epoch": 1,
        "lag": 1,
        "lag_is_exact": True,
        "in_memory": 2,
        "exists": True,
        "missing": [],
        "deleted": [],
        "id_unit": "ms",
        "held_up": [],
        "refused": None,
        "without_column": {},
    }
    link.call("DEL", STREAM)
    assert "not in memory at all; 0 not archived yet" in status(link, table).line()
    total = as_total(table, 1)
    assert total is not None and total.startswith("1 stream in 1 file, ")


def test_what_holds_up_a_trim(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    link.call("XGROUP", "CREATE", STREAM, "billing", "0")
    link.call("XGROUP", "CREATE", STREAM, "done", "$")
    archive(link, table)
    found = status(link, table)
    assert [one.label for one in found.holdups] == ["billing:unread"]
    assert found.line().endswith("held up by billing:unread")
    assert found.as_json()["held_up"][0]["unread"] == 10


def test_what_the_archiver_would_refuse(
    link: Connection, table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_many(link, 10)
    archive(link, table)
    link.call("DEL", STREAM)
    add(link, "20-0")
    assert status(link, table).refusal is None  # the server is known: a new epoch
    monkeypatch.setattr(sources, "read_source", lambda _: Source(run_id="another"))
    found = status(link, table)
    assert "refused: is archived up to 10-0, and nothing shows" in found.line()
    assert found.as_json()["refused"]["reason"] == "OtherSource"


def test_what_an_archiver_moves_on_meanwhile_is_not_refused(
    link: Connection, table: ArchiveTable
) -> None:
    """The table was opened before: the marker is beyond what it says."""
    add_many(link, 10)
    archive(link, table)
    add(link, "11-0")
    archive(link, ArchiveTable.open(table.root))
    found = status(link, table)
    assert (found.refusal, found.end) == (None, parse_id("11-0"))


def test_other_engines_read_the_present_line_alone(table: ArchiveTable) -> None:
    assert current_line_sql(table) == ""
    entries = [[f"{ms}-0".encode(), [b"n", b"1"]] for ms in range(1, 5)]
    commit(table, Position(parse_id("4-0")), written(table, entries))
    commit(table, Position(parse_id("4-0")), written(table, entries, "it's"), stream="it's")
    closed = replace(STATE.epochs[0], end=parse_id("4-0"))
    state = StreamState((closed, Epoch(2, "u", parent=1, branch=parse_id("2-0"))))
    new = [[b"2-5", [b"n", b"2"]], [b"3-0", [b"n", b"2"]]]
    commit(table, Position(parse_id("3-0")), written(table, new, epoch=2), state)
    sql = current_line_sql(table).replace("SELECT *", "SELECT stream, epoch, id")
    rows = connect(DELTA).execute(f"{sql} ORDER BY stream, ms, seq").fetchall()
    others = [("it's", 1, f"{ms}-0") for ms in range(1, 5)]
    line = [("orders", 1, "1-0"), ("orders", 1, "2-0"), ("orders", 2, "2-5"), ("orders", 2, "3-0")]
    assert rows == others + line
