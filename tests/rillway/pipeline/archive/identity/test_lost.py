"""Archives whose folders are gone, and what their markers in the streams are good for then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.lag.command import main as lag
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.places import archive_of, place_key, read_markers
from tests.rillway.pipeline.archive.scene import STREAM, add_many, live_ids


@pytest.fixture
def root(link: Connection, tmp_path: Path) -> Path:
    """The folder of a deleted archive."""
    add_many(link, 5)
    add_many(link, 5, stream="other")
    root = tmp_path / "archive"
    assert run(link, root) == 0
    shutil.rmtree(root)
    return root


def run(link: Connection, root: Path, *words: str) -> int:
    return main(["--pattern", "*", "--to", str(root), "--url", link.url, "--keep", "0", *words])


def test_no_archive_is_begun_where_there_was_one(
    link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(link, root) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 2
    assert "orders and 1 other stream was archived there up to 5-0" in printed.err
    assert f"rillway archive forget --to {root}" in printed.err
    assert not root.exists()
    assert run(link, root, "--new-archive") == 0


def test_a_second_archive_at_another_place_is_no_matter(
    link: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 5)
    assert run(link, tmp_path / "one") == run(link, tmp_path / "two") == 0
    assert len(link.call("XINFO", "GROUPS", STREAM)) == 2


def test_a_marker_whose_place_the_server_does_not_know_may_be_of_this_archive(
    link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [marker, _] = read_markers(link, [STREAM, "other"])
    link.call("DEL", place_key(str(archive_of(marker.group))))
    capsys.readouterr()
    assert run(link, root.parent / "new") == 1
    error = capsys.readouterr().err
    assert f"XGROUP DESTROY {STREAM} {marker.group} gives it up" in error


def test_a_lost_archive_is_forgotten(
    link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["forget", "--to", str(root), "--url", link.url]
    assert main(words) == 0
    assert capsys.readouterr().out.endswith(f"{root}: 2 groups removed from 2 streams\n")
    assert link.call("KEYS", "__archive:*:place") == []
    assert main(words) == 0
    assert "no stream has a group" in capsys.readouterr().out
    assert run(link, root) == 0


def test_every_command_reports_a_lost_archive_that_holds_up_trims(
    link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{STREAM}: the archive at {root} is gone, and its group __archive:"
    words = ["--stream", STREAM, "--to", str(root.parent / "new"), "--url", link.url]
    assert main([*words, "--keep", "0"]) == 0
    add_many(link, 5, 11)
    assert main([*words, "--keep", "0"]) == 0
    printed = capsys.readouterr()
    assert text in printed.err and "still holds up trims at 5-0" in printed.err
    assert len(live_ids(link)) == 5 and " days" not in printed.err
    assert main(["status", *words]) == 0
    assert text in capsys.readouterr().err
    assert lag(["--stream", STREAM, "--samples", "1", "--url", link.url]) == 0
    assert text in capsys.readouterr().err
    assert main(["forget", "--to", str(root), "--url", link.url]) == 0
    assert main([*words, "--keep", "0"]) == 0
    assert len(live_ids(link)) == 1


def test_nothing_is_said_of_a_folder_of_another_machine(
    link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [key] = link.call("KEYS", "__archive:*:place")
    content = json.loads(link.call("GET", key))
    link.call("SET", key, json.dumps({**content, "host": "another"}))
    capsys.readouterr()
    assert lag(["--stream", STREAM, "--samples", "1", "--url", link.url]) == 0
    assert "is gone" not in capsys.readouterr().err
    link.call("SET", key, "no JSON")
    assert read_markers(link, [STREAM])[0].place is None
