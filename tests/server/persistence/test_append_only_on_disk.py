"""The append-only file on a real disk, with the real thread; everything else is in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from server.inprocess.server import InProcessServer
from server.persistence.append_only.append_only_file import AppendOnlyFile
from server.persistence.append_only.directory import ThreadSyncer
from server.persistence.files import OsFiles
from tests.doubles.append_only import fatal, propagate, requests_in, unit


@pytest.mark.parametrize("policy", ["always", "everysec"])
def test_a_session_with_a_rewrite_leaves_exactly_these_files(tmp_path: Path, policy: str) -> None:
    server = InProcessServer(appendfsync=policy)
    instance, syncer = server.instance, ThreadSyncer()
    instance.config.dir = str(tmp_path)
    file = AppendOnlyFile(instance, OsFiles(), syncer, fatal)
    file.open()

    def cycle(number: int) -> None:
        instance.monotonic_ms += 1000
        propagate(instance, 0, unit(number))
        file.flush(instance.monotonic_ms)
        syncer.wait()

    cycle(1)
    file.begin_rewrite()
    base = Path(file.temporary_base_path)
    base.write_bytes(b"what a child wrote")
    cycle(2)
    file.finish_rewrite(str(base), is_snapshot=True)
    cycle(4)
    file.maintain(instance.monotonic_ms)
    assert file.synced_units == 3
    file.close()

    directory = tmp_path / "appendonlydir"
    contents = {path.name: path.read_bytes() for path in directory.iterdir()}
    increment = contents.pop("appendonly.aof.2.incr.aof")
    assert [argv for argv, _ in requests_in(increment)] == [[b"SELECT", b"0"], *unit(2), *unit(4)]
    assert contents == {
        "appendonly.aof.1.base.rdb": b"what a child wrote",
        "appendonly.aof.manifest": (
            b"file appendonly.aof.1.base.rdb seq 1 type b\n"
            b"file appendonly.aof.2.incr.aof seq 2 type i\n"
        ),
    }


def test_a_rewrite_brings_back_a_directory_that_was_removed(tmp_path: Path) -> None:
    server = InProcessServer()
    instance, syncer = server.instance, ThreadSyncer()
    instance.config.dir = str(tmp_path)
    file = AppendOnlyFile(instance, OsFiles(), syncer, fatal)
    file.open()
    shutil.rmtree(tmp_path / "appendonlydir")
    file.begin_rewrite()
    base = Path(file.temporary_base_path)
    base.write_bytes(b"what a child wrote")
    file.finish_rewrite(str(base), is_snapshot=True)
    syncer.wait()
    file.close()
    manifest = tmp_path / "appendonlydir" / "appendonly.aof.manifest"
    loaded = [line.split()[1] for line in manifest.read_text().splitlines() if line[-1] != "h"]
    assert loaded == ["appendonly.aof.1.base.rdb", "appendonly.aof.2.incr.aof"]
    assert all((manifest.parent / name).exists() for name in loaded)
