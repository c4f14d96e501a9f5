"""pyiceberg's files where the archive is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.iceberg.store_io import STORE, StoreIO, described
from tests.rillway.pipeline.archive.conftest import ObjectStore


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


def test_an_object_store_has_the_options_of_the_archive(object_store: ObjectStore) -> None:
    io = of(Store(object_store.uri, tuple(object_store.options.items())))
    place = f"{object_store.uri}/_iceberg/metadata/x.avro"
    with io.new_output(place).create() as stream:
        stream.write(b"12345")
    assert io.new_input(place).open().read() == b"12345"
    io.delete(place)
    assert not io.new_input(place).exists()
