"""`rillway sql` as a person uses it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rillway.__main__ import main as rillway
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.relations.command import main
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import group_infos
from tests.rillway.pipeline.scene import add_many

STREAM = "orders"


@pytest.fixture
def words(link: Connection) -> list[str]:
    add_many(link, STREAM, 3)
    return ["--url", link.url]


def test_a_table_has_columns_of_any_kind(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = "SELECT id, ms, ms = 2 AS two, NULL AS nothing FROM orders ORDER BY ms"
    assert main([text, *words]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "id   ms  two    nothing",
        "1-0   1  false",
        "2-0   2  true",
        "3-0   3  false",
    ]
    assert "3 entries in" in printed.err
    assert main(["SELECT id FROM orders WHERE ms > 5", *words]) == 0
    assert capsys.readouterr().out == "id\n"


def test_json_csv_and_parquet_have_the_same(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "SELECT id, ts, fields FROM orders WHERE ms = 2"
    capsys.readouterr()
    assert main([text, *words, "--format", "json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row == {"id": "2-0", "ts": None, "fields": {"n": "2-0"}}
    csv, parquet = tmp_path / "x.csv", tmp_path / "x.parquet"
    assert main([text, *words, "--format", "csv", "--output", str(csv)]) == 0
    assert csv.read_text() == ('id,ts,fields\n2-0,,"{""n"": ""2-0""}"\n')
    assert main([text, *words, "--format", "parquet", "--output", str(parquet)]) == 0
    assert pq.read_table(parquet).to_pylist()[0]["id"] == "2-0"


@pytest.mark.parametrize(
    ("text", "options", "status", "message"),
    [
        ("SELEC", [], 2, "syntax error"),
        ("SELECT x FROM orders", [], 2, 'Referenced column "x" not found'),
        ("SELECT 'x'::INT", [], 1, "Could not convert string"),
        ("SELECT 1", ["--memory", "much"], 2, "Memory must have a number"),
        ("SELECT 1", ["--archive", "/nowhere"], 1, "there is no archive"),
        ("SELECT 1 FROM 'nothing.csv'", [], 1, "nothing.csv"),
    ],
)
def test_what_is_wrong_is_a_sentence(
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    text: str,
    options: list[str],
    status: int,
    message: str,
) -> None:
    capsys.readouterr()
    assert main([text, *words, *options]) == status
    printed = capsys.readouterr().err
    assert printed.startswith("rillway sql: ")
    assert message in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_duckdb_computes(
    link: Connection, words: list[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(Progress, "advance", lambda progress, rows: os.kill(os.getpid(), number))
    text = "SELECT max(hash(r * ms)) FROM orders, range(1000000000000) t(r)"
    assert main([text, *words]) == 128 + number
    assert group_infos(link, STREAM) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_says_what_to_install(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    assert rillway(["sql", "SELECT 1", *words]) == 1
    assert "pip install 'rillway[sql]'" in capsys.readouterr().err
