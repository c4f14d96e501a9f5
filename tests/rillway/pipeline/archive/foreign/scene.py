"""An archive of two rounds with all entries still in memory, for other programs to change."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, archive
from tests.support.duckdb_extensions import DELTA, connect

Change = Callable[[Path], object]
IDS = [f"{day * DAY_MS + n}-{n % 2}" for day in (1, 2) for n in range(1, 9)]
SEQ = pa.decimal128(20, 0)


def make(link: Connection, table: ArchiveTable, *, is_typed: bool) -> None:
    """Archive IDS in two rounds, without a trim."""
    if is_typed:
        set_columns(table, from_options([f"{STREAM}=n INT, name STRING"]))
    for ids in (IDS[:5], IDS[5:]):
        for entry_id in ids:
            link.call("XADD", STREAM, entry_id, "n", entry_id[-3], "name", "é", "rest", b"\xff")
        archive(link, table, trims=False)


def entries(table: ArchiveTable, stream: str = STREAM) -> list[Any]:
    """The rows as entries, in the order in which they are read."""
    return [entry for _, batch in table.rows(stream).batches() for entry in raw_entries(batch)]


# -- what other programs do -----------------------------------------------------------------------


def delta(root: Path) -> DeltaTable:
    return DeltaTable(str(root))


def merge(root: Path) -> None:
    """Delete one row by a MERGE, and leave another as it is."""
    source = pa.table({"id": IDS[2:4], "gone": [True, False]})
    changed = delta(root).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    changed.when_matched_delete("s.gone").execute()


def append_again(root: Path) -> None:
    rows = pl.read_delta(str(root))
    rows.filter(pl.col("id").is_in(IDS[3:7])).reverse().write_delta(str(root), mode="append")


def overwrite(root: Path) -> None:
    rows = pl.read_delta(str(root))
    rows.sort("seq", "ms", descending=True).write_delta(str(root), mode="overwrite")


def insert_again(root: Path) -> None:
    """INSERT of DuckDB, of rows that are there."""
    duckdb = connect(DELTA)
    duckdb.execute(f"ATTACH '{root}' AS other (TYPE delta)")
    try:
        duckdb.execute(f"INSERT INTO other SELECT * FROM other WHERE ms < {DAY_MS + 5}")
    finally:
        duckdb.execute("DETACH other")


def compact_and_restore(root: Path) -> None:
    version = delta(root).version()
    delta(root).optimize.compact()
    delta(root).restore(version)


def vacuum(root: Path) -> None:
    delta(root).optimize.compact()
    delta(root).vacuum(0, dry_run=False, enforce_retention_duration=False)


def add_column(root: Path) -> None:
    delta(root).alter.add_columns([Field("region", PrimitiveType("string"))])


def set_property(name: str, value: str) -> Change:
    def change(root: Path) -> None:
        delta(root).alter.set_table_properties({name: value}, raise_if_not_exists=False)

    return change


def write_as(types: dict[str, pa.DataType], ids: list[str] = IDS[:4]) -> Change:
    """Overwrite rows by a writer that knows only Arrow's types."""

    def change(root: Path) -> None:
        rows = delta(root).to_pyarrow_table()
        for name, kind in types.items():
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, name, rows.column(name).cast(kind))
        write_deltalake(str(root), rows, mode="overwrite", schema_mode="overwrite")

    return change


def append_other(root: Path) -> None:
    """Add an entry that is there with another value."""
    rows = pl.read_delta(str(root)).filter(pl.col("id") == IDS[3])
    fields = [[{"name": b"n", "value": b"other"}]]
    changed = rows.with_columns(pl.Series("fields", fields, dtype=rows.schema["fields"]))
    if "layout" in rows.columns:
        changed = changed.with_columns(pl.lit(None).cast(pl.Int32).alias("layout"))
    changed.write_delta(str(root), mode="append")


def add_row(stream: str = STREAM, epoch: int = 1) -> Change:
    """INSERT a row that was never archived."""

    def change(root: Path) -> None:
        row = pl.read_delta(str(root)).filter(pl.col("id") == IDS[-1])
        ms = 3 * DAY_MS
        new = [
            pl.lit(f"{ms}-0").alias("id"),
            pl.lit(ms).alias("ms"),
            pl.lit(0).cast(pl.Decimal(20, 0)).alias("seq"),
            pl.lit(stream).alias("stream"),
            pl.lit(epoch).cast(pl.Int32).alias("epoch"),
        ]
        row.with_columns(new).write_delta(str(root), mode="append")

    return change


def commit_by_hand(root: Path, *actions: dict[str, Any]) -> None:
    """Commit actions that no program here can write."""
    version = delta(root).version() + 1
    info = {"commitInfo": {"operation": "BY HAND", "timestamp": 0}}
    lines = [json.dumps(action) for action in (info, *actions)]
    (root / "_delta_log" / f"{version:020d}.json").write_text("\n".join(lines))


def add_without_statistics(root: Path) -> None:
    """Replace each file by a copy of which the log has neither bounds nor the number of rows."""
    actions = []
    for number, file in enumerate(ArchiveTable.open(root).files()):
        copy = f"{file.path.rpartition('/')[0]}/part-{number:05d}.parquet"
        (root / copy).write_bytes((root / file.path).read_bytes())
        both = {"dataChange": False, "partitionValues": {"date": file.date.isoformat()}}
        both["size"] = file.size_bytes
        actions.append({"remove": {"path": file.path, "deletionTimestamp": 1, **both}})
        actions.append({"add": {"path": copy, "modificationTime": 1, **both}})
    commit_by_hand(root, *actions)


def add_deletion_vector(root: Path) -> None:
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    commit_by_hand(root, {"protocol": protocol})


def map_columns(root: Path) -> None:
    commit_by_hand(root, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}})


@dataclass(frozen=True, slots=True)
class Way:
    """A way of writing. `ids`: those that are left; `refused`: what the archiver says."""

    change: Change
    ids: tuple[str, ...] = tuple(IDS)
    refused: str = ""


def without(*ids: str) -> tuple[str, ...]:
    return tuple(one for one in IDS if one not in ids)


DELETED = f"id IN ('{IDS[2]}', '{IDS[9]}')"
# docs/how-to/archive.md has the same table, in the same order.
WAYS = {
    "compact": Way(lambda root: delta(root).optimize.compact()),
    "z-order": Way(lambda root: delta(root).optimize.z_order(["seq", "id"])),
    "DELETE": Way(lambda root: delta(root).delete(DELETED), without(IDS[2], IDS[9])),
    "DELETE of a day": Way(
        lambda root: delta(root).delete(f"ms < {2 * DAY_MS}"), without(*IDS[:8])
    ),
    "UPDATE": Way(lambda root: delta(root).update(updates={"epoch": "1"}, predicate=DELETED)),
    "MERGE": Way(merge, without(IDS[2])),
    "RESTORE that loses nothing": Way(compact_and_restore, refused="RESTORE"),
    "RESTORE": Way(lambda root: delta(root).restore(delta(root).version() - 1), refused="RESTORE"),
    "VACUUM": Way(vacuum),
    "append of rows again, by polars": Way(append_again),
    "insert of rows again, by DuckDB": Way(insert_again),
    "overwrite with the same rows": Way(overwrite),
    "new column": Way(add_column),
    "property": Way(set_property("delta.enableChangeDataFeed", "true")),
}
REFUSED = {
    "deletion vectors": Way(add_deletion_vector, refused="deletionVectors"),
    "column mapping": Way(map_columns, refused="columnMapping"),
    "other types": Way(write_as({"epoch": pa.string()}), refused="has made the column epoch"),
    "property of the archive": Way(
        set_property("rillway.partitionBy", "week"), refused="rillway.partitionBy"
    ),
    "INSERT of a row after the archived end": Way(add_row(), refused="after the archived end"),
    "INSERT of a row of another stream": Way(add_row("new"), refused="not archived here"),
    "UPDATE of keys": Way(
        lambda root: delta(root).update(updates={"ms": "7"}, predicate=DELETED),
        refused="ms and seq do not match",
    ),
}
