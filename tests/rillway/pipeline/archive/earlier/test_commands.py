"""`rillway archive backfill` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.pipeline.archive import command
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import STREAM, add_many

pytestmark = pytest.mark.integration


def run(*words: object) -> int:
    return command.main([str(word) for word in words])


def saved(link: Connection) -> Path:
    """Where the server has saved all it has."""
    link.call("SAVE")
    _, folder = link.call("CONFIG", "GET", "dir")
    _, name = link.call("CONFIG", "GET", "dbfilename")
    return Path(folder.decode(), name.decode())


def test_an_older_snapshot_has_entries_that_were_trimmed(
    redis_link: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = "--to", tmp_path / "archive"
    with Connection(f"{redis_link.url}/3") as link:
        words = "--stream", STREAM, *place, "--url", link.url, "--keep", "0"
        add_many(link, 50)
        backup = saved(link).rename(tmp_path / "backup.rdb")
        link.call("XTRIM", STREAM, "MINID", "31")
        add_many(link, 10, first_ms=51)
        assert run(*words) == 0
        assert run("backfill", *place, "--from", backup) == 1
        assert "31-0 is archived: --skip-archived adds only" in capsys.readouterr().err
        assert run("backfill", *place, "--from", backup, "--skip-archived") == 0
        told = "orders: 30 entries added, 1-0 to 30-0, before 31-0\n"
        assert capsys.readouterr().out == told
        link.call("XADD", STREAM, "99-0", "n", "1")
        assert run(*words) == 0
        assert run("verify", *place, "--deep", "--url", link.url) == 0
        assert "61 rows" in capsys.readouterr().out


def test_another_archive_may_have_what_came_before(
    redis_link: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--url", redis_link.url, "--stream", STREAM, "--keep", "0"
    old, new = tmp_path / "old", tmp_path / "new"
    add_many(redis_link, 10)
    assert run(*words, "--to", old) == 0
    redis_link.call("DEL", STREAM)
    add_many(redis_link, 10, first_ms=11)
    assert run(*words, "--to", new) == 0
    capsys.readouterr()
    assert run("backfill", "--to", new, "--from", old, "--stream", STREAM) == 0
    assert capsys.readouterr().out == "orders: 10 entries added, 1-0 to 10-0, before 11-0\n"
    assert run("backfill", "--to", new, "--from", old, "--stream", "no") == 1
    assert "has no stream no" in capsys.readouterr().err
    assert run("backfill", "--to", new, "--from", tmp_path / "none") == 1
    assert "there is no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--skip-archived"], ["--stream", "a"], ["--from", "b.rdb"]])
def test_what_does_not_go_together_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("backfill", "--to", "somewhere", "--columns", *words)
