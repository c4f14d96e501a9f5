"""`rillway query` without Spark: the command as a person uses it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import redis

from rillway.pipeline.archive import command as archive_command
from rillway.pipeline.query import command as query
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, MAX_SEQ, make_id
from rillway.testing.processes import RillwayCluster
from tests.rillway.pipeline.scene import add, add_many

STREAM = "orders"


@pytest.fixture
def archived(link: Connection, tmp_path: Path) -> list[str]:
    """30 entries, 20 of them archived and trimmed; the arguments that name them."""
    add_many(link, STREAM, 20)
    path = str(tmp_path / "archive")
    words = ["--stream", STREAM, "--to", path, "--url", link.url, "--engine", "local"]
    assert archive_command.main([*words, "--keep", "0", "--id-unit", "ms"]) == 0
    add_many(link, STREAM, 10, 21)
    return ["--stream", STREAM, "--url", link.url, "--archive", path]


def test_a_range_over_both_is_printed(
    archived: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert query.main([*archived, "--from", "15", "--to", "25", "--format", "json"]) == 0
    printed = capsys.readouterr()
    ids = [json.loads(line)["id"] for line in printed.out.splitlines()]
    assert ids == [f"{n}-0" for n in range(15, 25)]
    assert "10 entries in" in printed.err


def test_ids_are_included_at_both_ends(
    archived: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    words = ["--from", "20-0", "--to", "21-0", "--format", "csv", "--columns", "n"]
    assert query.main([*archived, *words]) == 0
    assert [line.split(",")[3] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "20-0",
        "21-0",
    ]


def test_a_time_without_a_zone_bounds_what_is_read_in_utc(
    archived: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    where = "ts >= '1970-01-01 00:00:00.019' AND '1970-01-01 00:00:00.0215' > ts"
    assert query.narrowed(where, 0, MAX_ID) == (make_id(19), make_id(21, MAX_SEQ))
    capsys.readouterr()
    assert query.main([*archived, "--where", where, "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert [json.loads(line)["id"] for line in printed.out.splitlines()] == ["19-0", "20-0", "21-0"]
    assert "Spark" not in printed.err


def test_a_stream_that_is_not_there_is_an_error(
    archived: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    misspelt = [*archived, "--stream", "ordres"]
    assert query.main(misspelt) == 1
    assert "there is no stream ordres at redis://" in capsys.readouterr().err
    assert query.main([*misspelt, "--allow-missing"]) == 0


def test_times_may_be_relative(link: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    now_ms = round(time.time() * 1000)
    add(link, STREAM, [f"{now_ms - 7_200_000}-0", f"{now_ms - 1_800_000}-0", f"{now_ms}-0"])
    words = ["--stream", STREAM, "--url", link.url, "--format", "csv", "--from", "-1h"]
    assert query.main([*words, "--to", "-10m"]) == 0
    found = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(",")[1] for line in found] == [f"{now_ms - 1_800_000}-0"]
    with pytest.raises(SystemExit):
        query.main([*words, "--to", "-soon"])


def test_a_limit_ends_it(archived: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert query.main([*archived, "--limit", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_a_file_is_written(archived: list[str], tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "out.parquet"
    assert query.main([*archived, "--format", "parquet", "--output", str(path)]) == 0
    assert pq.read_table(path).num_rows == 30


def test_what_goes_wrong_is_one_line(
    link: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--stream", STREAM, "--url", link.url, "--archive", str(tmp_path / "nothing")]
    assert query.main(words) == 1
    assert capsys.readouterr().err == (
        f"rillway query: {tmp_path / 'nothing'}: there is no archive: there is no such folder\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--stream", "s", "--from", "yesterday"],
        ["--stream", "s", "--from", "9-0", "--to", "8-0"],
        ["--stream", "s", "--format", "parquet"],
        ["--stream", "s", "--columns", "a"],
        ["--stream", "s", "--limit", "0"],
        ["--stream", "s", "--url", "http://x"],
    ],
)
def test_bad_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        query.main(words)
    assert ended.value.code == 2


def test_a_cluster_is_asked_at_the_node_that_has_the_stream(
    rillway_cluster: RillwayCluster,
    rillway_cluster_client: redis.RedisCluster,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("s:{0}", "s:{1}", "s:{2}", "s:{3}"):
        rillway_cluster_client.xadd(name, {"a": "b"}, id="1-1")
        assert query.main(["--url", rillway_cluster.url, "--stream", name, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["id"] == "1-1"
