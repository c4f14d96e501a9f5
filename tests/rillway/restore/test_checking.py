"""`rillway restore --check`: whatever is wrong with a back-up is found."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from rillway.backup.manifest import Backup, load
from rillway.backup.store import FolderStore
from rillway.restore.checking import check
from rillway.restore.command import main
from server.inprocess.server import InProcessServer
from tests.rillway.backup.copies import NAME, backed_up

pytestmark = pytest.mark.integration
BEGIN_MS = 1_700_000_000_000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A back-up of keys that have expired since, and some that have not."""
    server = InProcessServer(BEGIN_MS, appendonly="yes", aof_keep_increments="1h")
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v" * 100)
    client.execute("SET", "timed", "v", "PX", 1)
    client.execute("BGREWRITEAOF")
    for _ in range(3):
        server.tick()
    client.execute("SET", "later", "v", "PX", 1)
    client.execute("SELECT", 20 % 16)
    client.execute("RPUSH", "l", "1", "2")
    backed_up(server, FolderStore(tmp_path / "to"), tmp_path)
    return tmp_path / "to"


def findings(place: Path) -> list[str]:
    store = FolderStore(place)
    found = load(b"".join(store.read(f"{NAME}/backup.json")), "here")
    return check(store, f"{NAME}/", found)[0]


def test_a_sound_one_is_started_and_remembered(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(place), "--check"]) == 0
    assert "sound: 5 files, 4 keys" in capsys.readouterr().out
    record = json.loads((place / NAME / "checked.json").read_text())
    assert record["findings"] == [] and len(record["digests"]["server"]) == 40
    record["digests"]["server"] = "0" * 40
    (place / NAME / "checked.json").write_text(json.dumps(record))
    _change_manifest(place)
    assert main([str(place), "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "server: database 0 has 3 keys instead of 2",
        "server: database 5 has 0 keys instead of 1",
        "server: the digest of the data is not that of the last check",
    ]


def _change_manifest(place: Path) -> None:
    found = load((place / NAME / "backup.json").read_bytes(), "here")
    found.nodes[0].databases |= {"0": [2, 2], "5": [1, 0]}
    (place / NAME / "backup.json").write_bytes(found.dump())


def test_one_bit_that_was_turned_is_found_wherever_it_is(place: Path) -> None:
    chance = Random(1)
    files = [path for path in (place / NAME).rglob("*") if path.is_file()]
    for path in files:
        if path.name == "backup.json" or not path.stat().st_size:
            continue
        whole = path.read_bytes()
        damaged, bit = bytearray(whole), chance.randrange(8 * len(whole))
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        (finding,) = findings(place)
        assert finding == f"{path.relative_to(place)} is damaged: its SHA-256 is another one"
        path.write_bytes(whole)


def test_a_file_that_is_missing_or_short_is_found(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = sorted((place / NAME).rglob("*.incr.aof"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1])
    assert main([str(place), "--check"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert any("is missing" in line for line in printed)
    assert any("bytes instead of" in line for line in printed)
    assert main([str(place), "--dir", str(place.parent / "new")]) == 1
    assert list((place.parent / "new").iterdir()) == []


def test_what_no_server_starts_from_is_found(tmp_path: Path, place: Path) -> None:
    """As if the files had been written so: their digests are right."""
    store = FolderStore(place)
    found = load(b"".join(store.read(f"{NAME}/backup.json")), "here")
    node = found.nodes[0]
    node.files = [file for file in node.files if not file.path.endswith("2.base.rdb")]
    (finding,), _ = check(store, f"{NAME}/", Backup(NAME, 0, 0, "0", [node]))
    assert "no server starts from the copy" in finding
