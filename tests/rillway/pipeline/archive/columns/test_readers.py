"""What other programs read in typed columns, and which files they skip by the log's statistics."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.iceberg.catalogue import open_catalogue
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.support.duckdb_extensions import DELTA, connect

SCHEMA = ["--schema", "o*=customer STRING, amount DECIMAL(10,2), at TIMESTAMP, n BIGINT, f DOUBLE"]
WANTED = [Decimal("12.50"), Decimal("7.00"), Decimal("99.90")]


@pytest.fixture
def archive(rillway_link: Connection, tmp_path: Path) -> Path:
    """A round before there are columns, and two with them: three files; and an Iceberg mirror."""
    link, place = rillway_link, tmp_path / "archive"
    words = ["--stream", "o", "--to", str(place), "--url", link.url, "--no-compact"]
    words += ["--iceberg", f"sqlite:///{tmp_path}/catalogue.db"]
    rounds = [
        [("ann", "1.00")],
        [("ann", "12.50"), ("bob", "13.00"), ("ann", "007")],
        [("ann", "99.90"), ("ann", "12,5"), ("x" * 50, "98.00")],
    ]
    for number, entries in enumerate(rounds):
        for customer, amount in entries:
            fields = {"customer": customer, "amount": amount, "at": "2026-01-31 12:00:00",
                      "n": str((1 << 62) + number), "f": "0.5", "other": "y"}  # fmt: skip
            link.call("XADD", "o", "*", *(word for pair in fields.items() for word in pair))
        assert main([*words, *(SCHEMA if number == 1 else [])]) == 0
    return place


def test_amounts_of_a_customer(archive: Path, tmp_path: Path) -> None:
    frame = pl.scan_delta(str(archive)).filter(pl.col("customer") == "ann")
    found = frame.sort("ms", "seq").select("amount").collect()["amount"].to_list()
    assert found == [*WANTED, None]
    asked = f"SELECT amount FROM delta_scan('{archive}') WHERE customer = 'ann' ORDER BY ms, seq"
    assert connect(DELTA).execute(asked).fetchall() == [(value,) for value in found]
    table = open_catalogue(f"sqlite:///{tmp_path}/catalogue.db", ArchiveTable.open(archive).store)
    mirror = table.load_table("rillway.archive").scan(row_filter="customer = 'ann'").to_arrow()
    assert sorted(filter(None, mirror.column("amount").to_pylist())) == sorted(WANTED)


@pytest.mark.parametrize(
    ("condition", "amounts"),
    [
        ("amount > 98.5", [Decimal("99.90")]),
        ("n > 4611686018427387905", [Decimal("98.00"), Decimal("99.90"), None]),
        (
            "\"at\" >= '2026-01-31 12:00:00Z'::TIMESTAMPTZ AND f = 0.5 AND amount < 10",
            [Decimal("7.00")],
        ),
        ("customer > repeat('x', 49)", [Decimal("98.00")]),
        ("amount IS NULL", [None, None]),
    ],
)
def test_no_file_is_skipped_that_has_rows(
    archive: Path, condition: str, amounts: list[Decimal | None]
) -> None:
    asked = f"SELECT amount FROM delta_scan('{archive}') WHERE {condition} ORDER BY amount"
    assert [row[0] for row in connect(DELTA).execute(asked).fetchall()] == amounts


def test_the_log_has_bounds_of_each_file(archive: Path) -> None:
    actions = ArchiveTable.open(archive)._delta.get_add_actions(flatten=True)
    found = pl.DataFrame(actions).sort("min.ms").to_dicts()
    bounds = [(one["min.amount"], one["max.amount"], one["null_count.amount"]) for one in found]
    assert bounds == [
        (None, None, None),
        (Decimal("7.00"), Decimal("13.00"), 0),
        (Decimal("98.00"), Decimal("99.90"), 1),
    ]
    assert found[2]["max.customer"] == "x" * 32 + "\U0010ffff"
    assert found[1]["min.n"] == found[1]["max.n"] == (1 << 62) + 1
