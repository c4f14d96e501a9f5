"""What was lost is filled in from memory or a copy, in its own epoch, or stays known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.foreign.scene import IDS, entries, make
from tests.rillway.pipeline.archive.scene import STREAM, live_ids

TYPED = pytest.mark.parametrize("is_typed", [False, True], ids=["plain", "typed"])
FIRST_DAY = {"from": "86400001-0", "to": "86400005-18446744073709551615", "entries": 5}


def lose(table: ArchiveTable) -> None:
    """The first file: IDS[:5]."""
    (table.root / table.files()[0].path).unlink()
    assert main(["repair", "--to", str(table.root), "--drop-files"]) == 0


def missing(
    link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["status", "--to", str(table.root), "--url", link.url, "--json"]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["missing"]
    return found


@TYPED
@pytest.mark.parametrize("is_copy", [False, True], ids=["memory", "copy"])
def test_a_lost_file_is_filled_in(
    redis_link: Connection,
    table: ArchiveTable,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    is_typed: bool,
    is_copy: bool,
) -> None:
    make(redis_link, table, is_typed=is_typed)
    before = entries(table)
    copy = shutil.copytree(table.root, tmp_path / "copy")
    lose(table)
    assert missing(redis_link, table, capsys) == [FIRST_DAY]
    source = ["--from", str(copy)] if is_copy else ["--url", redis_link.url]
    assert main(["repair", "--to", str(table.root), *source]) == 0
    assert missing(redis_link, table, capsys) == []
    again = ArchiveTable.open(table.root)
    assert entries(again) == before
    state = again.state(STREAM)
    assert state is not None and len(state.epochs) == 1
    assert main(["verify", "--to", str(table.root), "--deep", "--url", redis_link.url]) == 0


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        ([("XDEL", STREAM, IDS[1])], "the source has 4 entries of it"),
        ([("XTRIM", STREAM, "MINID", IDS[5])], "the source has none of it"),
        ([("DEL", STREAM)], "the source does not have the stream"),
    ],
    ids=["deleted", "trimmed", "gone"],
)
def test_what_cannot_be_filled_in_stays_known(
    redis_link: Connection,
    table: ArchiveTable,
    capsys: pytest.CaptureFixture[str],
    harm: list[tuple[str, ...]],
    reason: str,
) -> None:
    make(redis_link, table, is_typed=False)
    lose(table)
    for request in harm:
        redis_link.call(*request)
    assert main(["repair", "--to", str(table.root), "--url", redis_link.url]) == 1
    assert reason in capsys.readouterr().err
    assert missing(redis_link, table, capsys) == [FIRST_DAY]


@TYPED
@pytest.mark.parametrize("lacks_one", [False, True])
def test_a_lost_file_of_several_streams_is_filled_in_if_all_of_it_is_there(
    redis_link: Connection,
    table: ArchiveTable,
    capsys: pytest.CaptureFixture[str],
    *,
    is_typed: bool,
    lacks_one: bool,
) -> None:
    make(redis_link, table, is_typed=is_typed)
    to = ["--to", str(table.root), "--url", redis_link.url, "--keep", "0", "--no-trim"]
    for entry_id in ("259200001-0", "259200009-0"):
        for stream in (STREAM, "more", "other"):
            redis_link.call("XADD", stream, entry_id, "n", "1", "m", stream)
        assert main(["--pattern", "*", *to, "--id-unit", "ms"]) == 0
    before = {name: entries(ArchiveTable.open(table.root), name) for name in (STREAM, "more")}
    shared = ArchiveTable.open(table.root).files("other")[0]
    assert shared.rows == 3
    (table.root / shared.path).unlink()
    if lacks_one:
        redis_link.call("XDEL", "more", "259200001-0")
    repair = ["repair", "--to", str(table.root), "--url", redis_link.url]
    assert main(repair) == lacks_one
    again = ArchiveTable.open(table.root)
    if lacks_one:
        assert "the source has 2 entries of it" in capsys.readouterr().err
        assert {name: len(one.absent) for name, one in again.records.items()} == {
            STREAM: 1,
            "more": 1,
            "other": 1,
        }
    else:
        assert {name: entries(again, name) for name in before} == before
        assert main(["verify", "--to", str(table.root), "--deep", "--url", redis_link.url]) == 0


def test_another_history_is_not_filled_in(
    redis_link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    make(redis_link, table, is_typed=False)
    lose(table)
    redis_link.call("DEL", STREAM)
    for entry_id in IDS:
        redis_link.call("XADD", STREAM, entry_id, "of", "another stream")
    assert main(["repair", "--to", str(table.root), "--url", redis_link.url]) == 1
    assert "another history" in capsys.readouterr().err


def test_lost_entries_stay_in_memory_until_they_are_filled_in_or_given_up(
    redis_link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    make(redis_link, table, is_typed=False)
    lose(table)
    words = ["--stream", STREAM, "--to", str(table.root), "--url", redis_link.url, "--keep", "0"]
    assert main(words) == 0
    assert live_ids(redis_link) == IDS
    assert "stays in memory, as the archive has lost entries" in capsys.readouterr().err
    assert main([*words, "--accept-loss"]) == 0
    assert live_ids(redis_link) == IDS[-1:]
