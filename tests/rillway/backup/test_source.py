"""The files of a moment, opened while the server goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rillway.backup.source import Moment, open_all

NAMES = [b"a.2.base.rdb", b"a.2.incr.aof"]


@pytest.fixture
def facts(tmp_path: Path) -> dict[str, Any]:
    """The reply to BACKUP FILES, after which the server has written and rewritten."""
    folder = tmp_path / "appendonlydir"
    (folder / "kept").mkdir(parents=True)
    (folder / "a.2.base.rdb").write_bytes(b"base")
    (folder / "a.2.incr.aof").write_bytes(b"one,two,")
    (folder / "kept/a.1.base.rdb").write_bytes(b"older")
    (folder / "a.1.incr.aof").write_bytes(b"zero,")  # it is about to be moved
    return {
        "folder": str(folder).encode(),
        "kept-folder": str(folder / "kept").encode(),
        "files": NAMES,
        "sizes": [4, 4],
        "kept": [[1_000, [b"a.1.base.rdb", b"a.1.incr.aof"], b"file a.1.base.rdb seq 1 type b\n"]],
        "acl-file": str(tmp_path / "users.acl").encode(),
    }


def test_each_file_has_the_size_that_it_had_at_the_moment(facts: dict[str, Any]) -> None:
    moment = Moment(facts)
    open_all(moment)
    assert [(file.path, file.bytes, file.is_base) for file in moment.files] == [
        ("appendonlydir/a.2.base.rdb", 4, True),
        ("appendonlydir/a.2.incr.aof", 4, False),
        ("appendonlydir/kept/a.1.base.rdb", 5, True),
        ("appendonlydir/kept/a.1.incr.aof", 5, False),
    ]
    ((until_ms, _, paths),) = moment.kept
    assert until_ms == 1_000 and paths == [file.path for file in moment.files[2:]]
    moment.close()
    assert not moment.files


def test_an_increment_is_no_base_whatever_it_is_called(
    facts: dict[str, Any], tmp_path: Path
) -> None:
    for old, new in (
        ("a.2.base.rdb", "a.1.base.rdb.2.base.aof"),
        ("a.2.incr.aof", "a.1.base.rdb.2.incr.aof"),
    ):
        (tmp_path / "appendonlydir" / old).rename(tmp_path / "appendonlydir" / new)
    facts |= {"files": [b"a.1.base.rdb.2.base.aof", b"a.1.base.rdb.2.incr.aof"], "kept": []}
    moment = Moment(facts)
    open_all(moment)
    assert [file.is_base for file in moment.files] == [True, False]
    moment.close()


def test_an_acl_file_is_there_once_it_was_saved(facts: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "users.acl").write_bytes(b"user default on\n")
    moment = Moment(facts)
    open_all(moment)
    assert (moment.files[-1].path, moment.files[-1].bytes) == ("users.acl", 16)
    moment.close()


def test_a_file_that_a_rewrite_has_removed_is_noticed(
    facts: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "appendonlydir/a.2.base.rdb").unlink()
    moment = Moment(facts)
    with pytest.raises(FileNotFoundError):
        open_all(moment)
    moment.close()
