"""`rillway archive` as a person uses it, without Spark."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from shutil import copytree

import pytest

from rillway.pipeline.archive.arguments import parse_options
from rillway.pipeline.archive.command import main, passes
from rillway.pipeline.archive.identity.epochs import Source
from rillway.pipeline.archive.lease import Leases, lease_key
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.testing.processes import RillwayCluster
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, add, add_many, live_ids


@pytest.fixture
def words(link: Connection, tmp_path: Path) -> list[str]:
    path = str(tmp_path / "archive")
    place = ["--stream", STREAM, "--to", path, "--url", link.url, "--engine", "local"]
    return [*place, "--id-unit", "ms"]  # of made-up IDs as well


def test_it_says_what_it_did(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 20)
    link.call("XGROUP", "CREATE", STREAM, "slow", "12-0")
    assert main([*words, "--keep", "0"]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "orders: 20 archived in 1 batch; 12 trimmed; 8 in memory; archived up to 20-0; "
        "held up by slow:unread\n"
    )
    assert "the group slow holds up the trim at 13-0 (slow:unread): " in printed.err
    assert main([*words, "--keep", "0", "--ignore-group", "slow"]) == 0
    assert capsys.readouterr().out == (
        "orders: 0 archived; 7 trimmed; 1 in memory; archived up to 20-0\n"
    )


def test_rounds_and_streams_are_reported_to_programs(
    link: Connection, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 20)
    link.call("XGROUP", "CREATE", STREAM, "slow", "12-0")
    told = [*words, "--keep", "0", "--json", "--metrics-file", str(tmp_path / "archive.prom")]
    assert main(told) == 0
    [line] = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["entries"], found["commits"], found["error"]) == (20, 1, None)
    assert found["streams"][0]["held_up"][0]["group"] == "slow"
    phases = found["seconds_by_phase"]
    assert phases["write"] > 0 and phases["mirror"] == 0
    assert main([*told, "--stream", "missing"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"][0]["reason"] == "StreamMissing"
    lines = (tmp_path / "archive.prom").read_text().splitlines()
    assert "rillway_archive_rounds_total 2" in [line.removesuffix(".0") for line in lines]
    assert main(["status", *words[2:6], "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["end"], status["lag"], status["refused"]) == ("20-0", 0, None)
    assert [each["group"] for each in status["held_up"]] == ["slow"]


def test_a_failed_round_is_reported_too(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = [*words[:4], "--url", "redis://127.0.0.1:1", "--json"]
    assert main([*away, "--metrics-file", str(tmp_path / "archive.prom")]) == 1
    assert "127.0.0.1:1" in json.loads(capsys.readouterr().out)["error"]
    text = (tmp_path / "archive.prom").read_text()
    assert "\nrillway_archive_failed_rounds_total 1" in text
    assert main([*away, "--metrics-file", str(tmp_path / "nowhere" / "archive.prom")]) == 1
    assert "no metrics are written: " in capsys.readouterr().err


def test_ten_minutes_are_kept_by_default(link: Connection, words: list[str]) -> None:
    add(link, "1-0", "500000-0", "1000000-0")
    assert main(words) == 0
    assert live_ids(link) == ["500000-0", "1000000-0"]
    assert main([*words, "--no-trim", "--keep", "0"]) == 0
    assert len(live_ids(link)) == 2


def test_a_missing_stream_is_an_error(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    assert "there is no stream orders at redis://" in capsys.readouterr().err
    assert main([*words, "--allow-missing"]) == 0


def test_all_streams_of_a_pattern_are_archived(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for stream in ("orders:b", "orders:a", "other"):
        add_many(link, 5, stream=stream)
    by_pattern = ["--pattern", "orders:*", *words[2:]]
    assert main(by_pattern) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" archived")[0] for line in lines] == [
        "orders:a: 5",
        "orders:b: 5",
        "2 streams: 10",
    ]
    assert " in 1 commit, 1 file, " in lines[2]


def test_named_streams_go_with_a_pattern(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for stream in ("orders:b", STREAM, "other"):
        add_many(link, 5, stream=stream)
    both = [*words, "--stream", "orders:b", "--pattern", "orders:*"]
    assert main(both) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" archived")[0] for line in lines] == [
        "orders: 5",
        "orders:b: 5",
        "2 streams: 10",
    ]
    assert main([*both, "--stream", "missing"]) == 1
    assert "there is no stream missing" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(words[2:])


def test_rounds_say_once_a_minute_what_repeats(
    link: Connection,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three rounds, in which another archiver has one stream and the others have nothing new."""
    waits = iter([False, False, True])

    def wait(interruption: Interruption, seconds: float) -> bool:
        is_last = next(waits)
        interruption.received = signal.SIGTERM if is_last else None
        return is_last

    for stream in ("a", "b", "c"):
        add_many(link, 5, stream=stream)
    table = ArchiveTable.open_or_create(words[3])
    monkeypatch.setattr(Interruption, "wait", wait)
    held = {"c": lease_key(table.group, "c")}
    with Leases(link.url, held, "archiving {}"):
        assert main(["--pattern", "*", *words[2:], "--every", "1s", "--keep", "0"]) == 1
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["a", "b", "2 streams", "2 streams"]
    assert lines[3] == "2 streams: nothing to archive or to trim"
    assert printed.err.count("is already active") == 1
    assert printed.err.count(f"writes to {link.url}\n") == 1


def test_a_pattern_without_streams_is_reported_but_not_an_error(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--pattern", "ordres:*", *words[2:]]) == 0
    assert capsys.readouterr().err == (
        f"rillway archive: writes to {link.url}\n"
        f"rillway archive: note: no stream at {link.url} fits ordres:*\n"
    )
    assert main(["status", *words[2:6]]) == 0
    assert capsys.readouterr().out == f"{words[3]}: has no rows\n"


def test_an_unknown_stream_is_an_error_of_each_job_that_names_it(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 5)
    assert main(words) == 0
    add_many(link, 5, stream="new")
    asked = ["--to", words[3], "--stream"]
    assert main(["epochs", *asked, "ordres"]) == 1
    assert f"ordres: is not in {words[3]}\n" in capsys.readouterr().err
    assert main(["status", *asked, "ordres", "--url", link.url]) == 1
    assert f"ordres: is neither in {words[3]} nor at {link.url}\n" in capsys.readouterr().err
    assert main(["status", *asked, "new", "--url", link.url]) == 0
    assert "new: 0 entries; archived up to nothing; 5 in memory" in capsys.readouterr().out


def test_an_archive_that_was_moved_is_not_considered_lost(
    link: Connection, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 5)
    assert main(words) == 0
    Path(words[3]).rename(tmp_path / "moved")
    at = ["--to", str(tmp_path / "moved"), "--url", link.url]
    capsys.readouterr()
    assert main(["status", *at]) == 0
    assert capsys.readouterr().err == ""
    assert main(["--stream", STREAM, *at]) == 0
    assert capsys.readouterr().err == f"rillway archive: writes to {link.url}\n"
    assert main(["status", *at]) == 0
    assert capsys.readouterr().err == ""


def test_what_verify_finds_in_the_server_is_nothing_to_repair(
    link: Connection, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 5)
    assert main(words) == 0
    copytree(words[3], tmp_path / "copy")
    add_many(link, 5, 6)
    assert main(words) == 0
    capsys.readouterr()
    assert main(["verify", "--to", str(tmp_path / "copy"), "--url", link.url]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("orders: would be refused: was archived up to 10-0")
    assert last.endswith(" bytes: 1 finding")


def test_a_pattern_finds_the_streams_of_all_nodes(
    rillway_cluster: RillwayCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"orders:{{{number}}}" for number in range(6)]
    with connect(rillway_cluster.url) as cluster:
        cluster.call_all([("XADD", name, "1-0", "n", "1") for name in names])
    at = ["--url", rillway_cluster.url, "--to", str(tmp_path / "a")]
    assert main(["--pattern", "orders:*", *at]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" archived")[0] for line in lines] == [
        *(f"{name}: 1" for name in names),
        "6 streams: 6",
    ]
    assert main(["status", *at]) == 0
    assert "orders:{5}: 1 entry; archived up to 1-0; 1 in memory; 0 not" in capsys.readouterr().out


def test_a_named_stream_that_is_in_another_database_is_an_error(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 2)
    assert main(words) == 0
    where = [*words[2:4], "--url", f"{link.url}/1"]
    assert main(["--stream", STREAM, *where, "--allow-missing"]) == 0
    assert main(["status", *where]) == 0
    capsys.readouterr()
    target = f"rillway archive: writes to {link.url}/1\n"
    for job, first in ([], target), (["status"], ""):
        assert main([*job, "--stream", STREAM, *where]) == 1
        assert capsys.readouterr().err == (
            f"{first}rillway archive: orders: was archived from database 0, and is not in "
            f"database 1 at {link.url}/1\n"
        )
    link.call("DEL", STREAM)
    assert main(words) == 0
    assert main(["expire", *words[2:4], "--stream", "other", "--older-than", "1d"]) == 1
    assert "other: is not in " in capsys.readouterr().err


@pytest.mark.parametrize("uri", ["ftp://host/x", "file:/x", "S5a://x"])
def test_a_uri_that_is_not_understood_is_refused(
    link: Connection,
    uri: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    add_many(link, 20)
    words = ["--stream", STREAM, "--url", link.url, "--engine", "local", "--keep", "0"]
    assert main([*words, "--to", uri]) == 1
    assert main(["status", "--to", uri, "--url", link.url]) == 1
    assert capsys.readouterr().err.count(f"{uri}: an archive is a local folder") == 2
    assert list(tmp_path.iterdir()) == []
    assert len(live_ids(link)) == 20


def test_files_are_cut_by_a_period_that_is_kept(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = words[3]
    add(link, "1-0", f"{2 * DAY_MS}-0")
    assert main([*words, "--partition-by", "month"]) == 0
    add(link, f"{3 * DAY_MS}-0", f"{40 * DAY_MS}-0")
    assert main(words) == 0
    files = ArchiveTable.open(path).files(STREAM)
    assert [(file.date.month, file.rows) for file in files] == [(1, 2), (1, 1), (2, 1)]
    assert main(["compact", "--to", path, "--partition-by", "year"]) == 0
    files = ArchiveTable.open(path).files(STREAM)
    assert [(file.date.month, file.rows) for file in files] == [(1, 4)]


def test_a_loss_is_an_error_that_says_how_to_continue(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    add_many(link, 5)
    assert main(words) == 0
    add_many(link, 5, 11)
    link.call("XTRIM", STREAM, "MAXLEN", 2)
    capsys.readouterr()
    assert main(words) == 1
    _, error = capsys.readouterr().err.splitlines()
    assert "3 entries" in error and "--accept-loss" in error
    assert main([*words, "--accept-loss"]) == 0


def test_days_are_compacted_expired_and_reported(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(3):
        add(link, f"{n + 1}-0")
        assert main(words) == 0
    add(link, f"{DAY_MS}-0", f"{2 * DAY_MS}-0")
    assert main(words) == 0
    at = words[2:4]
    capsys.readouterr()
    assert main(["compact", *at]) == 0
    assert capsys.readouterr().out.startswith("3 files became 1; 3 rows, ")
    assert main(["expire", *at, "--before", "1970-01-02"]) == 0
    assert capsys.readouterr().out.startswith("3 rows from before 1970-01-02 removed, 1 file")
    assert main(["status", *at, "--url", link.url]) == 0
    status = capsys.readouterr().out
    assert status.startswith("orders: 2 entries; archived up to ")
    assert "1 stream in 2 files, " in status
    assert "1970-01-02 to 1970-01-03" in status and "0 not archived yet" in status


def test_epochs_are_listed(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    at = words[2:4]
    add_many(link, 10)
    older = link.call("DUMP", STREAM)
    add_many(link, 10, 11)
    assert main(words) == 0
    link.call("RESTORE", STREAM, 0, older, "REPLACE")
    add(link, "10-1", "10-2")
    capsys.readouterr()
    assert main(words) == 0
    assert "the history diverged" in capsys.readouterr().err
    assert main(["epochs", *at]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("orders: epoch 1, 20 entries of its own, archived up to 20-0; begun")
    assert lines[1].startswith(
        "orders: epoch 2, of epoch 1 up to 10-0, 2 entries of its own, archived up to 10-2; begun"
    )
    assert main(["epochs", *at, "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["epoch"], first["end"], first["rows"]) == (1, "20-0", 20)
    assert (second["parent"], second["branch"], second["end"]) == (1, "10-0", "10-2")


def be_another_server(patch: pytest.MonkeyPatch) -> None:
    """What the server says of itself is nothing that the archive has heard before."""
    patch.setattr(
        "rillway.pipeline.archive.identity.sources.read_source",
        lambda connection: Source(run_id="another"),
    )


def test_a_refused_stream_is_an_error_and_the_others_go_on(
    link: Connection,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The archive has gone on with another server, which has a copy of one of them."""
    for stream in ("orders:a", "orders:b"):
        add_many(link, 5, stream=stream)
    by_pattern = ["--pattern", "orders:*", *words[2:], "--keep", "0"]
    assert main(by_pattern) == 0
    older = link.call("DUMP", "orders:a")
    link.call("DEL", "orders:a")
    add(link, "3-0", stream="orders:a")
    with monkeypatch.context() as patch:
        be_another_server(patch)
        assert main(by_pattern) == 0
    link.call("RESTORE", "orders:a", 0, older, "REPLACE")
    for stream in ("orders:a", "orders:b"):
        add(link, "6-0", stream=stream)
    capsys.readouterr()
    assert main(by_pattern) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("orders:b: 1 archived") and printed.out.count("\n") == 1
    _, error = printed.err.splitlines()
    assert "orders:a: the archive has gone on" in error
    assert len(live_ids(link, "orders:a")) == 2
    assert main([*by_pattern, "--new-epoch"]) == 0
    assert main(by_pattern) == 0


def test_a_server_is_known_by_another_stream_that_it_has(
    link: Connection, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has restarted without its replication: nothing shows who it is but the other stream."""
    for stream in ("orders:a", "orders:b"):
        add_many(link, 5, stream=stream)
    by_pattern = ["--pattern", "orders:*", *words[2:], "--keep", "0"]
    assert main(by_pattern) == 0
    link.call("DEL", "orders:a")
    add(link, "3-0", stream="orders:a")
    be_another_server(monkeypatch)
    assert main(["--stream", "orders:a", *words[2:], "--keep", "0"]) == 1
    assert main(by_pattern) == 0
    state = ArchiveTable.open(words[3]).state("orders:a")
    assert state is not None and state.present.number == 2


def test_an_unreachable_server_is_one_line_after_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "redis://:secret@127.0.0.1:1"
    words = ["--stream", "s", "--to", str(tmp_path / "a"), "--url", url, "--engine", "local"]
    assert main(words) == 1
    target, error = capsys.readouterr().err.splitlines()
    assert target == "rillway archive: writes to redis://:***@127.0.0.1:1"
    assert "127.0.0.1:1" in error and "secret" not in error


def test_a_failover_is_over_some_time_and_other_errors_of_the_server_are_not() -> None:
    assert passes(ServerError("NOREPLICAS Not enough good replicas to write."))
    assert passes(ConnectionLost("redis://127.0.0.1:1: refused"))
    assert not passes(ServerError("NOPERM this user has no permissions"))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--stream", "s"],
        ["--stream", "s", "--to", "p", "--every", "soon"],
        ["--stream", "s", "--to", "p", "--every", "5m", "--once"],
        ["--stream", "s", "--to", "p", "--batch", "0"],
        ["--stream", "s", "--to", "p", "--keep", "x"],
    ],
)
def test_bad_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_a_name_that_is_no_utf_8_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    name = b"\xff".decode(errors="surrogateescape")
    with pytest.raises(SystemExit) as ended:
        parse_options(["--stream", name, "--to", "p"])
    assert ended.value.code == 2
    assert "is not UTF-8" in capsys.readouterr().err


def test_a_stream_that_is_named_twice_is_archived_once() -> None:
    _, options = parse_options(["--stream", "a", "--stream", "b", "--stream", "a", "--to", "p"])
    assert options.stream == ["a", "b"]
    assert options.keep == 600


def test_a_mirror_for_iceberg_follows(
    rillway_link: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, catalogue = str(tmp_path / "archive"), f"sqlite:///{tmp_path}/catalogue.db"
    place = ["--to", path, "--iceberg", catalogue]
    words = ["--stream", STREAM, "--url", rillway_link.url, "--keep", "0"]
    add_many(rillway_link, 20)
    assert main([*words, *place]) == 0
    add_many(rillway_link, 20, 21)
    assert main([*words, "--to", path]) == 0
    capsys.readouterr()
    assert main(["iceberg", *place]) == 0
    assert main(["compact", "--to", path]) == 0
    assert main(["iceberg", *place]) == 0
    assert main(["iceberg", *place, "--rebuild"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "rillway.archive" in line]
    assert lines == [
        "rillway.archive: 1 file added, 0 removed; shows version 2 of the archive",
        "rillway.archive: 1 file added, 2 removed; shows version 3 of the archive",
        "rillway.archive: 1 file added, 0 removed; shows version 3 of the archive",
    ]


def test_a_mirror_that_fails_does_not_keep_from_archiving(
    rillway_link: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--stream", STREAM, "--url", rillway_link.url, "--keep", "0"]
    place = ["--to", str(tmp_path / "archive"), "--iceberg"]
    add_many(rillway_link, 20)
    nowhere = f"sqlite:///{tmp_path}/nowhere/catalogue.db"
    assert main([*words, "--batch", "5", *place, nowhere]) == 1
    printed = capsys.readouterr()
    assert "20 archived in 4 batches; 19 trimmed" in printed.out
    assert printed.err.count("rillway archive: not mirrored: rillway.archive: ") == 1
    assert main([*words, *place, f"sqlite:///{tmp_path}/catalogue.db"]) == 0
    with pytest.raises(SystemExit):
        main([*words, *place, nowhere, "--iceberg-table", "archive"])
    with pytest.raises(SystemExit):
        main([*words, *place, "catalogue.db"])
