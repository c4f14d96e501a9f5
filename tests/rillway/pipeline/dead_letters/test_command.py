"""`rillway dead-letters`: its arguments and its output."""

from __future__ import annotations

import re
import signal

import pytest
import redis

from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.dead_letters.command import loss, main, summary
from rillway.pipeline.dead_letters.mover import MoveReport
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import make_id
from rillway.testing.processes import RillwayCluster
from tests.rillway.pipeline.group_scene import deliver_again, pending_ids, pending_stream
from tests.rillway.pipeline.scene import stream_ids
from tests.support.waiting import interrupted_once

pytestmark = pytest.mark.integration


def run(link: Connection, *arguments: str) -> int:
    return main(
        ["--url", link.url, "--stream", "s", "--to", "dead", "--more-than", "3", *arguments]
    )


@pytest.fixture
def stream(link: Connection) -> Connection:
    """2 and 5 of ten were delivered five times, and 5 was deleted."""
    pending_stream(link, count=10)
    deliver_again(link, ["2-0", "5-0"], 5, idle_ms=60_000)
    link.call("XDEL", "s", "5-0")
    return link


def test_it_says_what_it_did(stream: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(stream) == 0
    shown = capsys.readouterr()
    assert shown.out == "s/g: 1 moved to dead; 1 lost\n"
    assert "s/g: lost, deleted or trimmed while pending: 5-0 (they stay pending" in shown.err
    assert run(stream, "--drop-missing") == 0
    assert capsys.readouterr().out == ("s/g: 0 moved to dead; 1 lost; 1 of them acknowledged\n")
    assert len(pending_ids(stream)) == 8


def test_a_dry_run_shows_what_would_be_moved(
    stream: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(stream, "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "s/g: 2 would be moved"
    assert [line.split()[:3] for line in lines[3:]] == [["2-0", "c", "5"], ["5-0", "c", "5"]]
    assert lines[4].endswith("lost")
    assert len(pending_ids(stream)) == 10 and stream.call("EXISTS", "dead") == 0


def test_all_groups_are_processed_unless_some_are_named(
    stream: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    stream.call("XGROUP", "CREATE", "s", "h", "$")
    run(stream, "--group", "h")
    assert capsys.readouterr().out == "s/h: 0 moved to dead\n"
    run(stream)
    assert [line[:4] for line in capsys.readouterr().out.splitlines()] == ["s/g:", "s/h:"]


def test_only_what_is_idle_is_moved(stream: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    run(stream, "--idle", "10m")
    run(stream, "--idle", "30s")
    assert capsys.readouterr().out.splitlines() == [
        "s/g: 0 moved to dead",
        "s/g: 1 moved to dead; 1 lost",
    ]


@pytest.fixture
def four_rounds(stream: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped after four entries; between the third and the fourth, 7 fails as well."""
    rounds = iter(range(1, 5))

    def wait(interruption: Interruption, seconds: float) -> bool:
        this = next(rounds)
        if this == 3:
            deliver_again(stream, ["7-0"], 5, idle_ms=60_000)
        interruption.received = signal.SIGTERM if this == 4 else None
        return this == 4

    monkeypatch.setattr(Interruption, "wait", wait)


@pytest.mark.usefixtures("four_rounds")
def test_it_continues_and_reports_once_a_minute_that_nothing_happens(
    stream: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(stream, "--every", "5m", "--drop-missing") == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "s/g: 1 moved to dead; 1 lost; 1 of them acknowledged",
        "s/g: 0 moved to dead",
        "s/g: 1 moved to dead",
    ]
    assert shown.err.count("\n") == 2 and "pending: 5-0" in shown.err


@pytest.mark.usefixtures("four_rounds")
def test_what_stays_lost_is_no_news(stream: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(stream, "--every", "5m") == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "s/g: 1 moved to dead; 1 lost",
        "s/g: 0 moved to dead; 1 lost",
        "s/g: 1 moved to dead; 1 lost",
    ]
    assert shown.err.count("\n") == 2 and "(they stay pending" in shown.err


def test_a_round_that_fails_is_not_the_end(stream: Connection) -> None:
    stream.call("SET", "dead", "v")
    failure = "dead holds a string, not a stream; next try in 0.1 s"
    with interrupted_once(lambda shown: failure in shown) as shown:
        assert run(stream, "--every", "100ms") == 0
    assert failure in shown()
    assert run(stream) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--stream", "s", "--to", "s", "--more-than", "3"], "--to is the stream itself"),
        (["--stream", "s", "--to", "d"], "--more-than"),
        (["--stream", "s", "--to", "d", "--more-than", "x"], "takes a number from 0 up"),
        (
            ["--stream", "s", "--to", "d", "--more-than", "1", "--idle", "x"],
            "--idle takes a time",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_an_unreachable_server_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--url", "redis://127.0.0.1:1", "--stream", "s", "--to", "d", "--more-than", "1"]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    target, reason = error.splitlines()
    assert target == "rillway dead-letters: writes to redis://127.0.0.1:1"
    assert reason.startswith("rillway dead-letters: redis://127.0.0.1:1: ")


def test_a_stream_without_groups_is_said_to_be_one(
    link: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    link.call("XADD", "s", "*", "a", "b")
    assert run(link) == 0
    assert capsys.readouterr().out == "s: no groups\n"
    assert stream_ids(link, "dead") == []


def test_a_stream_that_is_missing_is_an_error(
    link: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(link) == 1
    assert f"there is no stream s at {link.url}" in capsys.readouterr().err


def test_a_report_has_everything() -> None:
    report = MoveReport(
        "s", "g", 1200, [make_id(n) for n in range(1, 13)], dropped=12, taken_back=2
    )
    assert summary(report, "dead") == (
        "s/g: 1,200 moved to dead; 12 lost; 12 of them acknowledged; "
        "2 acknowledged by a consumer just then, and not moved"
    )
    assert loss(report).endswith("9-0, 10-0 and 2 more")


def test_a_cluster_is_asked_at_the_node_that_has_the_stream(
    rillway_cluster: RillwayCluster,
    rillway_cluster_client: redis.RedisCluster,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for partition in range(4):
        stream, dead = f"s:{{{partition}}}", f"s:dead:{{{partition}}}"
        rillway_cluster_client.xadd(stream, {"a": "b"})
        rillway_cluster_client.xgroup_create(stream, "g", "0")
        rillway_cluster_client.xreadgroup("g", "c", {stream: ">"})
        command = ["--url", rillway_cluster.url, "--stream", stream, "--to", dead]
        assert main([*command, "--more-than", "0"]) == 0
        assert rillway_cluster_client.xlen(dead) == 1
        assert main([*command, "--back"]) == 0
        assert rillway_cluster_client.xlen(stream) == 2
    command = ["--url", rillway_cluster.url, "--stream", "s", "--partitions", "4"]
    capsys.readouterr()
    assert main([*command, "--more-than", "0"]) == 0
    assert capsys.readouterr().out == "s: 0 moved, in 4 partitions\n"
    command = ["--url", rillway_cluster.url, "--stream", "s:{0}", "--to", "dead"]
    assert main([*command, "--more-than", "0"]) == 1
    assert "s:{0} and dead must be in one slot" in capsys.readouterr().err


@pytest.fixture
def partitions(link: Connection) -> Connection:
    """Of four partitions of p, 0 and 2 have an entry that was delivered four times; 3 has none."""
    for partition in range(3):
        stream = f"p:{{{partition}}}"
        link.call("XADD", stream, "1-0", "n", partition)
        if partition == 1:
            continue
        link.call("XGROUP", "CREATE", stream, "g", "0")
        link.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", stream, ">")
        link.call("XCLAIM", stream, "g", "c", 0, "1-0", "RETRYCOUNT", 4, "JUSTID")
    return link


def run_partitions(link: Connection, *arguments: str) -> int:
    return main(["--url", link.url, "--stream", "p", "--partitions", "4", *arguments])


def test_all_partitions_are_listed_moved_and_sent_back(
    partitions: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_partitions(partitions, "--more-than", "3", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "would be moved" in line] == [
        "p:{0}/g: 1 would be moved",
        "p:{2}/g: 1 would be moved",
        "p: 2 would be moved, in 4 partitions",
    ]
    assert run_partitions(partitions, "--more-than", "3", "--group", "G") == 1
    assert "no partition has the group G\n" in capsys.readouterr().err
    assert run_partitions(partitions, "--more-than", "3", "--group", "g") == 0
    assert capsys.readouterr().out.splitlines() == [
        "p:{0}/g: 1 moved to p:dead:{0}",
        "p:{2}/g: 1 moved to p:dead:{2}",
        "p: 2 moved, in 4 partitions",
    ]
    assert [partitions.call("XLEN", f"p:dead:{{{p}}}") for p in range(4)] == [1, 0, 1, 0]
    assert run_partitions(partitions, "--back") == 0
    assert capsys.readouterr().out.splitlines() == [
        "p:{0}: 1 moved back from p:dead:{0}",
        "p:{2}: 1 moved back from p:dead:{2}",
        "p: 2 moved back, in 4 partitions",
    ]
    assert [partitions.call("XLEN", f"p:{{{p}}}") for p in range(4)] == [2, 1, 2, 0]


@pytest.mark.parametrize(("number", "what"), [(1, "p:{1} to p:{2}"), (2, "p:{2}")])
def test_partitions_beyond_the_number_are_mentioned(
    partitions: Connection, number: int, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--url", partitions.url, "--stream", "p", "--partitions", str(number)]
    assert main([*where, "--more-than", "3"]) == 0
    text = f"rillway dead-letters: note: --partitions {number} leaves out {what}\n"
    assert capsys.readouterr().err.endswith(text)


def test_partitions_are_found_by_a_few_requests(partitions: Connection) -> None:
    partitions.call("CONFIG", "RESETSTAT")
    assert run_partitions(partitions, "--more-than", "3", "--dry-run") == 0
    calls = re.findall(rb"cmdstat_\S+:calls=(\d+)", partitions.call("INFO", "commandstats"))
    assert 0 < sum(map(int, calls)) < 50


def test_partitions_far_beyond_the_number_are_mentioned_if_others_lie_between(
    partitions: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (15, 31, 63):
        partitions.call("XADD", f"p:{{{number}}}", "*", "a", "b")
    assert run_partitions(partitions, "--more-than", "3", "--dry-run") == 0
    assert "--partitions 4 leaves out p:{15} to p:{63}\n" in capsys.readouterr().err


def test_a_stream_without_any_partition_is_reported(
    link: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_partitions(link, "--more-than", "3") == 1
    assert "there is no stream p:{0} at" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "one of --to and --partitions is needed"),
        (["--to", "d", "--partitions", "4"], "one of --to and --partitions is needed"),
        (["--partitions", "20000"], "a stream has 1 to 16384 partitions"),
    ],
)
def test_where_they_go_is_said_once(
    words: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--stream", "s", "--more-than", "3", *words])
    assert ended.value.code == 2
    assert what in capsys.readouterr().err
