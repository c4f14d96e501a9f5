"""The mirror's table, as a catalogue has it."""

from __future__ import annotations

import pytest

from rillway.pipeline.archive.iceberg import catalogue as module
from rillway.pipeline.archive.iceberg.catalogue import MirrorFailed, open_catalogue, open_table
from rillway.pipeline.archive.table import ArchiveTable


def test_it_has_the_columns_of_the_files_and_the_archives_place(
    table: ArchiveTable, uri: str
) -> None:
    made = open_table(open_catalogue(uri, table.store), "sales.orders", table)
    names = [field.name for field in made.schema().fields]
    assert names == ["stream", "epoch", "id", "ms", "seq", "ts", "fields"]
    assert made.location() == f"{table.root}/_iceberg"
    assert made.name_mapping() is not None
    again = open_table(open_catalogue(uri, table.store), "sales.orders", table)
    assert again.metadata == made.metadata


def test_options_of_an_object_store_are_not_written_to_it(table: ArchiveTable, uri: str) -> None:
    made = open_table(open_catalogue(uri, table.store), "sales.orders", table)
    assert not any("store" in name or "io-impl" in name for name in made.properties)


def test_who_makes_it_second_finds_it(
    table: ArchiveTable, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = module._create

    def create_twice(*arguments: object) -> None:
        create(*arguments)  # type: ignore[arg-type]
        create(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_create", create_twice)
    assert open_table(open_catalogue(uri, table.store), "a.b", table).name() == ("a", "b")


def test_a_table_of_somebody_else_is_refused(table: ArchiveTable, uri: str) -> None:
    catalogue = open_catalogue(uri, table.store)
    catalogue.create_namespace("a")
    catalogue.create_table("a.b", module.columns(table), location=f"{table.root}/_iceberg")
    with pytest.raises(MirrorFailed, match=r"the table a\.b of the catalogue is no mirror"):
        open_table(catalogue, "a.b", table)
