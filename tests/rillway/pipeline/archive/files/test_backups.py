"""Back-ups in object stores, beside the archives that share their client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rillway.backup.catalogue import find, names, remove_old
from rillway.backup.command import main as backup
from rillway.backup.manifest import BackupError
from rillway.backup.retention import parse_keep
from rillway.backup.store import open_store
from rillway.pipeline.wire.connection import Connection
from rillway.restore.command import main as restore
from tests.conftest import StartRillway
from tests.rillway.backup.copies import started
from tests.rillway.pipeline.archive.conftest import GOOGLES_THOROUGH, ObjectStore

pytestmark = pytest.mark.integration


def words_of(store: ObjectStore) -> list[str]:
    return [word for pair in store.options.items() for word in ("--storage-option", "=".join(pair))]


@GOOGLES_THOROUGH
def test_only_what_is_new_travels_and_all_comes_back(
    object_store: ObjectStore,
    run_rillway: StartRillway,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = run_rillway("--appendonly", "yes")
    url = f"redis://127.0.0.1:{server.port}"
    words = ["--url", url, "--to", object_store.uri, *words_of(object_store), "--json"]
    made = []
    with Connection(url) as client:
        for number in range(1, 4):
            client.call("XADD", "s", f"{number}-1", "f", "v" * 10_000)
            assert backup([*words, "--incremental"]) == 0, capsys.readouterr().err
            made.append(json.loads(capsys.readouterr().out))
    assert all(10_000 < one["new_bytes"] < 11_000 for one in made)
    store = open_store(object_store.uri, object_store.options)
    removed = remove_old(store, parse_keep("1h"), made[0]["began_ms"] + 86_400_000)
    assert len(removed) == 2 and names(store) == [made[2]["name"]]
    new = tmp_path / "new"
    assert restore([object_store.uri, "--dir", str(new), *words_of(object_store)]) == 0
    assert started(new).connect().execute("XLEN", "s") == b":3\r\n"


@GOOGLES_THOROUGH
def test_an_unfinished_one_is_refused(object_store: ObjectStore) -> None:
    store = open_store(object_store.uri, object_store.options)
    with pytest.raises(BackupError, match="is no back-up"):
        find_in(object_store)
    store.put("20261124T140300.000Z/begun.json", b'{"began_ms": 1764000000000}')
    with pytest.raises(BackupError, match="was not finished"):
        find_in(object_store)


def find_in(store: ObjectStore) -> None:
    find(open_store(store.uri, store.options))
