"""An archive with entries of a customer who is to be erased, and a search for traces of her."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.repair.findings import check_table
from rillway.pipeline.archive.repair.rows import RowsCheck, check_live
from rillway.pipeline.archive.report.rounds import RoundOutcome
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import DAY_MS

STREAMS = ["orders", "returns"]
# Her name is the greatest of its column, her amount the least; the field is hers alone.
NAME, AMOUNT, FIELD = "zz-Erika Muster", -987654321, "nickname-of-erika"
BYTES = [NAME.encode(), str(AMOUNT).encode(), FIELD.encode()]
CONDITION = f"customer = '{NAME}'"
ROUNDS = 4
EACH = 12
# Every third entry is hers, also the last one of each round.
HERS = range(2, EACH, 3)
ALL = len(HERS) * (ROUNDS + 1) * len(STREAMS)


def entry_id(number: int, day: int) -> str:
    return f"{day * DAY_MS + number + 1}-0"


def add_round(connection: Connection, day: int) -> None:
    """Entries of a day in each stream."""
    requests = []
    for stream in STREAMS:
        for number in range(EACH):
            words: list[str | int] = ["customer", f"c{number}", "amount", number]
            if number in HERS:
                words = ["customer", NAME, "amount", AMOUNT, FIELD, "Riki"]
            requests.append(("XADD", stream, entry_id(number, day), *words))
    connection.call_all(requests)


def make_scene(
    connection: Connection, place: Path | str, options: Mapping[str, str] | None = None
) -> ArchiveTable:
    """Rounds of two streams with typed columns, compacted once; the last day is only in memory."""
    table = ArchiveTable.open_or_create(place, options)
    table.set_period("month")
    set_columns(table, from_options(["*=customer STRING, amount INT"]))
    for day in range(ROUNDS):
        add_round(connection, day)
        archive_all(connection, table)
        if day == ROUNDS - 2:
            compact(table, vacuum_after_hours=None)  # replaced files stay
            table.checkpoint()
    add_round(connection, ROUNDS)
    return table


def archive_all(connection: Connection, table: ArchiveTable) -> RoundOutcome:
    rules = TrimRules(keep_ms=DAY_MS)
    settings = ArchiverSettings(connection.url, rules=rules, id_unit="ms")
    return Archiver(table, LocalEngine(), settings).round(STREAMS)


def others() -> list[str]:
    """The IDs of all entries that stay, of each stream."""
    days = range(ROUNDS + 1)
    return [entry_id(n, day) for day in days for n in range(EACH) if n not in HERS]


# -- a search -------------------------------------------------------------------------------------


def traces(root: Path) -> list[str]:
    """What is left of her in the files of a folder: raw, Parquet decoded, Avro inflated."""
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(root))
            content = b"\n".join(contents(path))
            found += [f"{name}: {word!r}" for word in BYTES if word in content]
    return found


def contents(path: Path) -> Iterator[bytes]:
    raw = path.read_bytes()
    yield raw
    if path.suffix == ".parquet":
        parquet = pq.ParquetFile(io.BytesIO(raw))
        yield repr(parquet.read().to_pylist()).encode()
        for group in range(parquet.metadata.num_row_groups):
            yield repr(parquet.metadata.row_group(group).to_dict()).encode()
        yield repr(parquet.metadata.metadata).encode()
    if path.suffix == ".avro":
        yield from inflated(raw)


def inflated(raw: bytes) -> Iterator[bytes]:
    """Whatever can be inflated from any place on: the blocks, among others."""
    for place in range(len(raw)):
        try:
            yield zlib.decompressobj(-15).decompress(raw[place:])
        except zlib.error:
            continue


def damage(connection: Connection, table: ArchiveTable) -> list[str]:
    """What verify --deep --url finds."""
    findings, sound = check_table(table)
    check = RowsCheck(table)
    check.run(sound)
    return [str(one) for one in [*findings, *check.findings, *check_live(connection, table)]]
