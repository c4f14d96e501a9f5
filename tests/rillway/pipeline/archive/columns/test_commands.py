"""`rillway archive` with columns, as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.pipeline.archive.arguments import parse_options
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection


@pytest.fixture
def words(rillway_link: Connection, tmp_path: Path) -> list[str]:
    for number in range(5):
        rillway_link.call("XADD", "orders:eu", "*", "amount", f"{number}.50", "Customer", "ann")
        rillway_link.call("XADD", "orders:us", "*", "amount", "10.00", "note", "x")
    return ["--pattern", "orders:*", "--url", rillway_link.url]


def test_a_schema_is_proposed_written_and_used(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, place = tmp_path / "schema.yaml", tmp_path / "archive"
    asked = ["--infer", "3", "--schema-file", str(file)]
    assert main([*words, *asked]) == 0
    printed = capsys.readouterr().out
    assert '"orders:*": "amount DECIMAL(9,2), Customer STRING, note STRING"' in printed
    assert file.read_text() == printed
    assert not place.exists()
    assert main([*words, *asked]) == 1
    assert f"{file}: exists already; --infer writes a new file" in capsys.readouterr().err
    assert main([*words, "--to", str(place), "--schema-file", str(file)]) == 0
    table = ArchiveTable.open(place)
    assert [column.name for column in table.columns.columns] == ["amount", "Customer", "note"]
    assert {file.path for file in table.files()}


def test_no_schema_is_proposed_by_nothing(
    rillway_link: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--infer", "3", "--url", rillway_link.url]
    file = tmp_path / "schema.yaml"
    assert main(["--pattern", "ordres:*", *asked, "--schema-file", str(file)]) == 1
    assert f"no stream at {rillway_link.url} fits ordres:*\n" in capsys.readouterr().err
    rillway_link.call("XGROUP", "CREATE", "empty", "g", "0", "MKSTREAM")
    assert main(["--stream", "empty", *asked, "--schema-file", str(file)]) == 1
    assert "empty: no entries to propose a schema by\n" in capsys.readouterr().err
    assert not file.exists()


def test_a_pattern_of_a_schema_that_no_stream_matches_is_reported(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = ["--schema", "ordres:*=amount STRING", "--schema", "orders:eu=amount STRING"]
    assert main([*words, "--to", str(tmp_path / "archive"), *schema]) == 0
    assert capsys.readouterr().err == (
        f"rillway archive: writes to {words[3]}\n"
        "rillway archive: note: no stream of this round has the columns of ordres:*\n"
    )


def test_a_change_is_refused_in_a_sentence(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--to", str(tmp_path / "archive")]
    assert main([*words, *place, "--schema", "orders:*=amount DECIMAL(10,2)"]) == 0
    capsys.readouterr()
    assert main([*words, *place, "--schema", "orders:*=amount INT"]) == 1
    assert capsys.readouterr().err == (
        f"rillway archive: writes to {words[3]}\n"
        "rillway archive: orders:*: amount is DECIMAL(10,2) in the table, and a column has one "
        "type for all rows: `amount AS another_name INT` makes a column beside it\n"
    )
    assert main([*words, *place, "--schema-file", str(tmp_path / "none.yaml")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_older_rows_are_backfilled(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--to", str(tmp_path / "archive")]
    assert main([*words, *place]) == 0
    capsys.readouterr()
    schema = ["--schema", "orders:*=amount DECIMAL(10,2)"]
    assert main([*words, *place, *schema]) == 0
    assert capsys.readouterr().err == (
        f"rillway archive: writes to {words[3]}\n"
        "rillway archive: note: rows that are archived already get the new columns by "
        f"`rillway archive backfill --columns --to {place[1]}`\n"
    )
    assert main([*words, *place, *schema]) == 0
    assert capsys.readouterr().err == f"rillway archive: writes to {words[3]}\n"
    assert main(["backfill", "--columns", *place]) == 0
    assert capsys.readouterr().out == "1 file written again; 10 rows\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--to", "a", "--schema", "s=a INT", "--schema-file", "f"],
        ["--to", "a", "--case-sensitive"],
        ["--infer", "5", "--schema", "s=a INT"],
        ["--infer", "0"],
        [],
    ],
)
def test_bad_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        parse_options(["--stream", "s", *words])
    assert exited.value.code == 2


def test_a_backfill_says_of_what() -> None:
    with pytest.raises(SystemExit):
        parse_options(["backfill", "--to", "a"])
