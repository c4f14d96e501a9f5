"""The mirror's table, as a catalogue has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.iceberg import catalogue as module
from rillway.pipeline.archive.iceberg.catalogue import (
    STORE,
    MirrorFailed,
    StoreIO,
    described,
    open_catalogue,
    open_table,
)
from rillway.pipeline.archive.table import ArchiveTable
from tests.rillway.pipeline.archive.conftest import GOOGLES_THOROUGH, ObjectStore


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


def test_a_foreign_table_is_refused(table: ArchiveTable, uri: str) -> None:
    catalogue = open_catalogue(uri, table.store)
    catalogue.create_namespace("a")
    catalogue.create_table("a.b", module.columns(table), location=f"{table.root}/_iceberg")
    with pytest.raises(MirrorFailed, match=r"the table a\.b of the catalogue is no mirror"):
        open_table(catalogue, "a.b", table)


def of(store: Store) -> StoreIO:
    return StoreIO({STORE: described(store)})


def test_what_is_written_is_on_the_disk_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    io = of(Store(str(tmp_path / "a b#c")))
    place = f"{tmp_path}/a b#c/_iceberg/metadata/x.avro"
    with io.new_output(place).create() as stream:
        stream.write(b"12345")
    assert synced[0] == 5 and len(synced) == 2
    assert io.new_input(place).open().read() == b"12345"
    with pytest.raises(FileExistsError):
        io.new_output(place).create()
    with io.new_output(place).create(overwrite=True) as stream:
        stream.write(b"6")
    assert len(io.new_input(place)) == 1
    io.delete(place)
    assert not Path(place).exists()


def test_other_places_are_pyicebergs_affair(tmp_path: Path) -> None:
    io = of(Store(str(tmp_path / "archive")))
    place = f"{tmp_path}/other/x.json"
    with io.new_output(place).create() as stream:
        stream.write(b"1")
    assert io.new_input(place).open().read() == b"1"
    io.delete(place)
    assert not Path(place).exists()


@GOOGLES_THOROUGH
def test_an_object_store_has_the_options_of_the_archive(object_store: ObjectStore) -> None:
    io = of(Store(object_store.uri, tuple(object_store.options.items())))
    place = f"{object_store.uri}/_iceberg/metadata/x.avro"
    with io.new_output(place).create() as stream:
        stream.write(b"12345")
    assert io.new_input(place).open().read() == b"12345"
    io.delete(place)
    assert not io.new_input(place).exists()
