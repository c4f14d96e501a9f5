"""What other programs do to the table: each way is right at once, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rillway.pipeline.archive.archiver import Hooks
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.files.log_files import read_version
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.foreign import commits
from rillway.pipeline.archive.foreign.changes import Changes
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.query.history import open_history
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.foreign.scene import (
    IDS,
    REFUSED,
    WAYS,
    append_other,
    delta,
    entries,
    make,
)
from tests.rillway.pipeline.archive.scene import STREAM, add, archive, live_ids

TYPED = pytest.mark.parametrize("is_typed", [False, True], ids=["plain", "typed"])


def query(link: Connection, table: ArchiveTable) -> list[str]:
    with open_history(link.url, STREAM, table.root) as history:
        return [entry for batch in history.batches() for entry in batch.column("id").to_pylist()]


@TYPED
@pytest.mark.parametrize("name", WAYS)
def test_a_way_of_writing_is_right_or_refused_and_a_repair_makes_it_whole(
    redis_link: Connection, table: ArchiveTable, name: str, is_typed: bool
) -> None:
    way = WAYS[name]
    make(redis_link, table, is_typed=is_typed)
    before = entries(table)
    way.change(table.root)
    to = ["--to", str(table.root)]
    changed = ArchiveTable.open(table.root)
    if way.refused:
        with pytest.raises(ArchiveError, match=way.refused):
            archive(redis_link, changed)
        assert live_ids(redis_link) == IDS
    else:
        assert entries(changed) == [one for one in before if one[0].decode() in way.ids]
        assert query(redis_link, changed) == list(way.ids)
        add(redis_link, f"{IDS[-1][:-2]}-5")
        archive(redis_link, changed)
        assert query(redis_link, changed) == [*way.ids, f"{IDS[-1][:-2]}-5"]
    assert main(["repair", *to, "--url", redis_link.url]) == 0
    assert main(["verify", *to, "--deep", "--url", redis_link.url]) == 0
    repaired = ArchiveTable.open(table.root)
    assert all(file.is_own for file in repaired.files())
    archive(redis_link, repaired)


@pytest.mark.parametrize("name", REFUSED)
def test_what_readers_cannot_have_is_refused_before_anything_is_trimmed(
    redis_link: Connection, table: ArchiveTable, name: str
) -> None:
    way = REFUSED[name]
    make(redis_link, table, is_typed=False)
    way.change(table.root)
    with pytest.raises(ArchiveError, match=way.refused):
        # The table was open before, as it is with --every.
        archive(redis_link, table)
    assert live_ids(redis_link) == IDS
    # Other commands say something as well.
    assert main(["verify", "--to", str(table.root), "--deep"]) == 1


def test_what_another_program_commits_after_the_archiver_is_checked_before_a_trim(
    redis_link: Connection, table: ArchiveTable
) -> None:
    make(redis_link, table, is_typed=False)
    add(redis_link, f"{IDS[-1][:-2]}-5")
    before = live_ids(redis_link)

    def reached(step: str) -> None:
        if step == "placed":
            append_other(table.root)

    with pytest.raises(ArchiveError, match="another program has written it again"):
        archive(redis_link, table, hooks=Hooks(reached=reached))
    assert live_ids(redis_link) == before


@pytest.mark.parametrize(
    "name", [name for name in REFUSED if name.startswith(("INSERT", "UPDATE"))]
)
def test_rows_that_do_not_belong_to_the_archive_do_not_become_its_own(
    redis_link: Connection, table: ArchiveTable, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make(redis_link, table, is_typed=False)
    REFUSED[name].change(table.root)
    assert main(["repair", "--to", str(table.root)]) == 1
    assert REFUSED[name].refused in capsys.readouterr().err
    assert main(["upkeep", "--to", str(table.root)]) == 1
    if "another stream" not in name:
        with pytest.raises(ArchiveError, match=REFUSED[name].refused):
            query(redis_link, ArchiveTable.open(table.root))


@pytest.mark.parametrize("words", [["upkeep"], ["compact"], ["expire", "--older-than", "99999d"]])
def test_no_log_is_cleaned_before_it_was_checked(
    redis_link: Connection,
    table: ArchiveTable,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    make(redis_link, table, is_typed=False)
    WAYS["DELETE"].change(table.root)
    words = [*words, "--to", str(table.root)]
    assert main(words) == 0
    assert [one.entries for one in ArchiveTable.open(table.root).records[STREAM].absent] == [1, 1]
    delta(table.root).restore(1)
    assert main(words) == 1
    assert "took back rows" in capsys.readouterr().err


def test_a_repair_does_not_hide_what_cannot_be_read(
    redis_link: Connection, table: ArchiveTable
) -> None:
    make(redis_link, table, is_typed=False)
    REFUSED["UPDATE of keys"].change(table.root)
    assert main(["repair", "--to", str(table.root)]) == 1
    with pytest.raises(ArchiveError, match="ms and seq do not match"):
        archive(redis_link, ArchiveTable.open(table.root))
    assert live_ids(redis_link) == IDS


def test_a_row_that_was_written_again_with_other_content_is_an_error(
    redis_link: Connection, table: ArchiveTable
) -> None:
    make(redis_link, table, is_typed=False)
    append_other(table.root)
    table.refresh()
    with pytest.raises(ArchiveError, match="twice, with different content"):
        entries(table)
    with pytest.raises(ArchiveError, match="twice, with different content"):
        archive(redis_link, table)
    assert live_ids(redis_link) == IDS


def test_rows_that_are_no_entries_do_not_become_own_ones(
    redis_link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    make(redis_link, table, is_typed=True)
    delta(table.root).update(updates={"layout": "77"}, predicate=f"id = '{IDS[2]}'")
    assert main(["repair", "--to", str(table.root)]) == 1
    assert "has the layout 77" in capsys.readouterr().err
    with pytest.raises(ArchiveError, match="has the layout 77"):
        archive(redis_link, ArchiveTable.open(table.root))
    assert live_ids(redis_link) == IDS


def test_the_documentation_has_each_way() -> None:
    page = Path("docs/how-to/archive.md").read_text(encoding="utf-8")
    rows = page.partition("| Another program's |")[2].partition("\n\n")[0].splitlines()[2:]
    names = [row.split(" | ")[0].removeprefix("| ") for row in rows]
    assert names == [*WAYS, *REFUSED, "row again with other content"]


def test_a_verification_writes_nothing_and_finds_what_no_repair_has_recorded(
    redis_link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    make(redis_link, table, is_typed=False)
    WAYS["DELETE"].change(table.root)
    version = delta(table.root).version()
    assert main(["verify", "--to", str(table.root)]) == 1
    printed = capsys.readouterr().out
    assert f"removed or changed rows: {version} (DELETE)" in printed
    assert "1 file of another program" in printed or "2 files of another program" in printed
    assert delta(table.root).version() == version


def test_only_commits_of_other_programs_are_read(
    redis_link: Connection, table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(store: Store, version: int) -> list[Mapping[str, Any]]:
        read.append(version)
        return read_version(store, version)

    make(redis_link, table, is_typed=False)
    monkeypatch.setattr(commits, "read_version", counted)
    other = ArchiveTable.open(table.root)
    checked = Changes(other)
    for _ in range(2):
        checked.check()
    assert read == [other.version]
    read.clear()
    delta(table.root).optimize.compact()
    other.refresh()
    checked.check()
    assert read == [other.version]
