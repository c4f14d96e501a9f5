"""`rillway archive erase` as a person uses it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.earlier.adding import TableOrigin, add_earlier
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.conftest import GOOGLES_THOROUGH, ObjectStore
from tests.rillway.pipeline.archive.erasure.scene import (
    ALL,
    CONDITION,
    STREAMS,
    damage,
    make_scene,
    others,
    traces,
)
from tests.rillway.pipeline.archive.scene import (
    STREAM,
    add,
    add_many,
    archive,
    archived_ids,
    commit,
    live_ids,
    written,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def words(link: Connection, root: Path) -> list[str]:
    """Ten entries that are archived, of which memory has four, and two new ones."""
    table = ArchiveTable.open_or_create(root)
    add_many(link, 10)
    archive(link, table)
    add(link, "11-0", "12-0")
    return ["erase", "--to", str(root), "--url", link.url]


def ids(root: Path, link: Connection) -> tuple[list[str], list[str]]:
    return archived_ids(ArchiveTable.open(root)), live_ids(link)


def test_a_dry_run_counts_each_entry_once_and_changes_nothing(
    link: Connection, root: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = ids(root, link)
    everything = [*words, "--from-id", "9-0", "--to-id", "11-0", "--dry-run"]
    assert main([*everything, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": 3}
    assert main([*everything, "--stream", STREAM]) == 0
    assert capsys.readouterr().out == "orders: 3 entries\n3 entries to erase\n"
    assert ids(root, link) == before


@pytest.mark.parametrize(
    "chosen",
    [
        ["--ids", "FILE"],
        ["--from-id", "10-0", "--to-id", "11"],
        ["--where", "fields['n'] IN ('9', '11-0')"],
    ],
)
def test_entries_go_from_archive_and_memory(
    link: Connection,
    root: Path,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    chosen: list[str],
) -> None:
    file = tmp_path / "ids"
    file.write_bytes("\ufeff10-0\r\n\r\n11-0\r\n11-0\n77-0".encode())
    chosen = [str(file) if word == "FILE" else word for word in chosen]
    certificate = tmp_path / "certificate.json"
    assert main([*words, *chosen, "--certificate", str(certificate)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "2 entries erased; 1 file replaced by 1\n"
    assert "not reached: back-ups" in printed.err
    content = json.loads(certificate.read_text())
    assert (content["entries"], content["streams"]) == (2, {STREAM: 2})
    assert ids(root, link) == ([f"{n}-0" for n in range(1, 10)], ["12-0"])
    # Again, there is nothing to do.
    assert main([*words, *chosen, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 0
    # The archive goes on, although its last entry and its anchor were erased.
    report = archive(link, ArchiveTable.open(root))
    assert report.archived == 1
    assert main(["verify", "--to", str(root), "--url", link.url, "--deep"]) == 0


def test_entries_in_memory_have_the_epoch_of_their_rows(
    link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = ArchiveTable.open_or_create(root)
    add(link, "1-0", "2-0")
    archive(link, table, trims=False)
    saved = link.call("DUMP", STREAM)
    add(link, "3-0")
    archive(link, table, trims=False)
    link.call("RESTORE", STREAM, 0, saved, "REPLACE")
    link.call("XADD", STREAM, "3-0", "n", "another")
    report = archive(link, table, trims=False)
    assert report.epoch == 2
    assert main(["erase", "--to", str(root), "--url", link.url, "--where", "epoch = 2"]) == 0
    assert capsys.readouterr().out.startswith("1 entry erased")
    assert ids(root, link) == (["1-0", "2-0", "3-0"], ["1-0", "2-0"])


def test_unreadable_choices_are_refused(
    link: Connection,
    root: Path,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = ids(root, link)
    file = tmp_path / "ids"
    file.write_text("10-0\nx\n")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe1")
    (root / "_iceberg").mkdir()
    everything = ["--from-id", "1-0", "--to-id", "9-0"]
    for chosen, text in [
        (["--ids", str(file)], "has a mirror for Iceberg"),
        (["--where", "n = '9'"], "has a mirror for Iceberg"),
        (["--ids", str(file)], "line 2: 'x' is no ID"),
        (["--where", "n = '9'"], "there is no column n."),
        (["--where", "fields['n'] > 15"], "needs Spark"),
        ([*everything, "--stream", "other"], "has no stream other"),
        ([*everything, "--certificate", str(tmp_path / "a" / "b")], "no such folder"),
        ([*everything, "--certificate", str(tmp_path)], "a certificate is a file"),
        (["--ids", str(binary)], "not a text of IDs"),
    ]:
        assert main([*words, *chosen]) == 1
        assert text in capsys.readouterr().err
        if "mirror" in text and chosen[0] == "--where":
            (root / "_iceberg").rmdir()
    for wrong in (["--from-id", "1-0"], ["--to-id", "1-0"], [], ["--from-id", "x"]):
        with pytest.raises(SystemExit):
            main([*words, *wrong])
    assert ids(root, link) == before


def test_a_person_is_asked(
    link: Connection,
    root: Path,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = ids(root, link)
    for answer in ("n\n", "", "yes\n"):
        assert ids(root, link) == before
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        assert main([*words, "--from-id", "11-0", "--to-id", "11-0"]) == (answer != "yes\n")
        assert "orders: 1 entry\n1 entry to erase\nErase them" in capsys.readouterr().err
    assert ids(root, link) == (before[0], [one for one in before[1] if one != "11-0"])


class Terminal:
    def __init__(self, answer: str) -> None:
        self._answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._answer


def test_references_of_groups_go_or_hold_an_entry(
    rillway_link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = rillway_link
    table = ArchiveTable.open_or_create(root)
    add_many(link, 4)
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    link.call("XREADGROUP", "GROUP", "g", "a", "COUNT", 3, "STREAMS", STREAM, ">")
    link.call("XACK", STREAM, "g", "1-0")
    archive(link, table)
    words = ["erase", "--to", str(root), "--url", link.url, "--from-id", "1-0", "--to-id", "4-0"]
    # 1-0 was trimmed, 2-0 and 3-0 are pending, 4-0 was not read.
    assert main([*words, "--refs", "acked", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": 1}
    assert main([*words, "--refs", "acked"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("1 entry erased")
    assert "3 entries left" in printed.err
    assert ids(root, link) == (["2-0", "3-0", "4-0"], ["2-0", "3-0", "4-0"])
    link.call("XACK", STREAM, "g", "2-0")
    assert main([*words, "--refs", "acked"]) == 1
    assert ids(root, link) == (["3-0", "4-0"], ["3-0", "4-0"])
    assert main([*words, "--refs", "delref"]) == 0
    assert ids(root, link) == ([], [])
    assert link.call("XPENDING", STREAM, "g")[0] == 0


def test_an_acknowledged_entry_goes_before_it_is_archived(
    rillway_link: Connection, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = rillway_link
    table = ArchiveTable.open_or_create(root)
    add_many(link, 2)
    archive(link, table)
    add(link, "3-0", "4-0", "5-0")
    link.call("XGROUP", "CREATE", STREAM, "g", "2-0")
    link.call("XREADGROUP", "GROUP", "g", "a", "COUNT", 2, "STREAMS", STREAM, ">")
    link.call("XACK", STREAM, "g", "3-0")
    words = ["erase", "--to", str(root), "--url", link.url, "--from-id", "3-0", "--to-id", "5-0"]
    assert main([*words, "--refs", "acked"]) == 1
    assert "2 entries left" in capsys.readouterr().err
    assert live_ids(link) == ["2-0", "4-0", "5-0"]
    archive(link, table)
    assert ids(root, link)[0] == ["1-0", "2-0", "4-0", "5-0"]


@GOOGLES_THOROUGH
def test_nothing_is_left_in_an_object_store(
    redis_link: Connection, object_store: ObjectStore, tmp_path: Path
) -> None:
    table = make_scene(redis_link, object_store.uri, object_store.options)
    assert traces(copied(table.store, tmp_path / "before"))
    words = ["erase", "--to", object_store.uri, "--url", redis_link.url, "--where", CONDITION]
    for name, value in object_store.options.items():
        words += ["--storage-option", f"{name}={value}"]
    certificate = tmp_path / "certificate.json"
    assert main([*words, "--certificate", str(certificate)]) == 0
    table.refresh()
    assert traces(copied(table.store, tmp_path / "after")) == []
    for name in STREAMS:
        found = {*archived_ids(table, name), *live_ids(redis_link, name)}
        assert sorted(found) == sorted(others())
    assert damage(redis_link, table) == []
    content = json.loads(certificate.read_text())
    assert (content["entries"], bool(content["files"])) == (ALL, True)
    assert any("versions of deleted objects" in text for text in content["not_reached"])


def copied(store: Store, folder: Path) -> Path:
    """All objects of an archive, as files."""
    for info in store.listed("", recursive=True):
        path = folder / info.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.filesystem.open_input_stream(info.path).read())
    return folder


def test_references_need_a_server_that_knows_them(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Capabilities, "has_command", lambda self, name: name != "XDELEX")
    assert main([*words, "--from-id", "1-0", "--to-id", "4-0", "--refs", "delref"]) == 1
    assert "--refs needs a server with XDELEX" in capsys.readouterr().err


def test_a_backfill_brings_nothing_back(link: Connection, root: Path, words: list[str]) -> None:
    copy = shutil.copytree(root, root.with_name("copy"))
    assert main([*words, "--from-id", "1-0", "--to-id", "3-0"]) == 0
    table, origin = ArchiveTable.open(root), TableOrigin(ArchiveTable.open(copy))
    done = add_earlier(table, origin, [STREAM], skips_archived=True)
    assert done[STREAM].rows == 0
    assert archived_ids(table)[0] == "4-0"


def test_rows_that_another_program_brings_back_are_found_and_erased_again(
    link: Connection, root: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [*words, "--from-id", "2-0", "--to-id", "3-0"]
    assert main(chosen) == 0
    table = ArchiveTable.open(root)
    record = table.records[STREAM]
    commit(table, record.end, written(table, [[b"2-0", [b"n", b"1"]]]), record.state)
    capsys.readouterr()
    assert main(["verify", "--to", str(root), "--deep"]) == 1
    assert "2-0 was erased, and is there again" in capsys.readouterr().out
    assert main(chosen) == 0
    assert capsys.readouterr().out == "1 entry erased; 1 file replaced by 0\n"
    assert main(["verify", "--to", str(root), "--deep"]) == 0
    assert parse_id("2-0") not in {parse_id(one) for one in archived_ids(ArchiveTable.open(root))}
