"""`rillway lag`, on both servers."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from rillway.pipeline.lag.command import line, main, outlook, table
from rillway.pipeline.wire.connection import Connection
from rillway.sampler.trend import GroupSample, Recording, Series
from rillway.testing.processes import RillwayCluster
from tests.rillway.pipeline.group_scene import pending_stream
from tests.rillway.pipeline.scene import add_many
from tests.rillway.sampler.test_trend import sample
from tests.support.programs.servers import RunningServer
from tests.support.waiting import interrupted_once

pytestmark = pytest.mark.integration

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def stream(link: Connection) -> Connection:
    """g of s has read 4 of 10 entries."""
    pending_stream(link, count=4)
    add_many(link, "s", 6, first=5)
    return link


def test_each_sample_is_a_line_and_a_table_comes_at_the_end(
    stream: Connection, capsys: Capture
) -> None:
    assert main(["--url", stream.url, "--stream", "s", "--samples", "3", "--every", "10ms"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [text[9:] for text in lines[:1]] == ["s/g: 6 behind, 4 pending"]
    assert len(lines) == 6
    assert lines[5].split()[:6] == ["s/g", "3", "6", "6", "6", "4"]


def test_what_was_sampled_goes_into_files(
    stream: Connection, tmp_path: Path, capsys: Capture
) -> None:
    samples, plot = tmp_path / "lag.csv", tmp_path / "lag.png"
    files = ["--csv", str(samples), "--plot", str(plot)]
    arguments = ["--url", stream.url, "--pattern", "?", "--group", "g", "--samples", "2"]
    assert main([*arguments, "--every", "10ms", *files]) == 0
    with samples.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["group"], row["lag"], row["entries_read"]) for row in rows] == [
        ("g", "6", "4")
    ] * 2
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_it_ends_when_it_is_told_to(stream: Connection) -> None:
    with interrupted_once(lambda shown: shown.count("\n") > 4) as shown:
        assert main(["--url", stream.url, "--stream", "s", "--every", "50ms"]) == 0
    lines = shown().splitlines()
    assert len(lines) > 4 and lines[-1].startswith("s/g")


def test_a_stream_without_groups_is_no_error(link: Connection, capsys: Capture) -> None:
    add_many(link, "s", 1)
    assert main(["--url", link.url, "--stream", "s", "--samples", "1"]) == 0
    assert capsys.readouterr().out == "no groups\n"


def test_a_key_of_another_type_is_one_line(link: Connection, capsys: Capture) -> None:
    link.call("SET", "s", "v")
    assert main(["--url", link.url, "--stream", "s", "--samples", "1"]) == 1
    wanted = f"rillway lag: s at {link.url} is no stream: its type is string\n"
    assert capsys.readouterr().err == wanted


def test_a_stream_that_is_missing_is_an_error(link: Connection, capsys: Capture) -> None:
    assert main(["--url", link.url, "--stream", "ordres", "--samples", "1"]) == 1
    assert capsys.readouterr().err == f"rillway lag: there is no stream ordres at {link.url}\n"


def test_all_streams_are_taken_if_none_is_named(link: Connection, capsys: Capture) -> None:
    for stream in ("clicks", "orders"):
        link.call("XADD", stream, "1-0", "n", "1")
        link.call("XGROUP", "CREATE", stream, "g", "0")
    link.call("SET", "other", "1")
    assert main(["--url", link.url, "--samples", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[1] for line in lines[:2]] == ["clicks/g:", "orders/g:"]


def test_named_streams_go_together_with_a_pattern(link: Connection, capsys: Capture) -> None:
    for stream in ("clicks", "jobs", "orders:a"):
        link.call("XADD", stream, "1-0", "n", "1")
        link.call("XGROUP", "CREATE", stream, "g", "0")
    chosen = ["--stream", "jobs", "--pattern", "orders:*"]
    assert main(["--url", link.url, "--samples", "1", *chosen]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[1] for line in lines[:2]] == ["jobs/g:", "orders:a/g:"]
    assert "clicks" not in "".join(lines)
    assert main(["--url", link.url, "--samples", "1", *chosen, "--stream", "ordres"]) == 1
    assert "there is no stream ordres at" in capsys.readouterr().err


def series(*samples: GroupSample) -> Series:
    return Series(list(samples))


def test_a_line_says_how_fast_and_how_long() -> None:
    first, last = sample(0, 1000, 0, 1000), sample(2, 900, 300, 1200)
    text = line(last, series(first, last))
    assert text[9:] == (
        "s/g: 900 behind, 0 pending, 150 read and 100 added a second, through in 18 s"
    )
    unknown = sample(3, None, None, 1200)
    assert line(unknown, series(first, unknown))[9:] == ("s/g: an unknown number behind, 0 pending")


def test_what_becomes_of_the_lag_is_said() -> None:
    reads = [sample(number, 500 - 20 * number, 100 * number, 80 * number) for number in range(10)]
    assert outlook(series(*reads[:1], sample(1, 0, 500, 80))) == "nothing left"
    assert outlook(series(*reads)) == "through in 16 s"
    falls_behind = [sample(n, 500 + 20 * n, 80 * n, 100 * n) for n in range(10)]
    assert outlook(series(*falls_behind)) == "does not catch up"
    assert outlook(series(*falls_behind[:9])) is None


def test_a_group_that_is_momentarily_two_behind_is_not_told_that_it_does_not_catch_up() -> None:
    lags = [0, 2, 0, 1, 0, 0, 3, 0, 0, 2]
    samples = [sample(n, lag, 100 * n - lag, 100 * n) for n, lag in enumerate(lags)]
    assert outlook(series(*samples)) == "keeps up"
    assert outlook(series(*samples[:2])) is None


def test_a_line_says_what_entries_wait_for() -> None:
    waiting = replace(
        sample(0, 9, 0, 9), waits=("3 for a deadline", "2 for their time (DELAY)"), dead_letters=4
    )
    assert line(waiting, series(waiting))[9:] == (
        "s/g: 9 behind, 0 pending, 4 to the dead letters; waiting: 3 for a deadline,"
        " 2 for their time (DELAY)"
    )


def test_policies_are_in_lines_and_objects(rillway_link: Connection, capsys: Capture) -> None:
    pending_stream(rillway_link, count=4)
    rillway_link.call("XGROUP", "CONFIG", "s", "g", "ACK-WAIT", 60_000, "MAX-PENDING", 4)
    rillway_link.call("XADD", "s", "9-0", "n", "9")
    rillway_link.call("XADD", "s", "DELAY", 3_600_000, "*", "n", "10")
    rillway_link.call("XNACK", "s", "g", "FAIL", "IDS", 1, "1-0", "DELAY", 60_000)
    rillway_link.call("XNACK", "s", "g", "FAIL", "IDS", 1, "2-0")
    arguments = ["--url", rillway_link.url, "--stream", "s", "--samples", "1"]
    assert main(arguments) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert "; waiting: 1 for a read, 2 for a deadline, 1 for a delay, " in first
    assert "1 for their time (DELAY), the next in " in first
    assert main([*arguments, "--json"]) == 0
    [group] = json.loads(capsys.readouterr().out)["groups"]
    names = ("due", "delayed", "held", "dead_letters", "stream_scheduled", "waits_for")
    waits = {"read": 1, "deadline": 2, "delay": 1}
    assert [group[name] for name in names] == [1, 1, False, 0, 1, waits]
    rillway_link.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    rillway_link.call("XADD", "s", "11-0", "n", "11")
    assert main([*arguments, "--json"]) == 0
    [group] = json.loads(capsys.readouterr().out)["groups"]
    assert (group["held"], group["waits_for"]["MAX-PENDING"]) == (True, 1)


def test_a_redis_is_asked_about_policies_once_and_has_none(
    redis_server: RunningServer, capsys: Capture
) -> None:
    client = redis.Redis(port=redis_server.port)
    client.flushall()
    for name in ("a", "b", "c"):
        client.xgroup_create(name, "g", mkstream=True)
    url = f"redis://127.0.0.1:{redis_server.port}"

    def refused(samples: int) -> int:
        client.config_resetstat()
        arguments = ["--url", url, "--samples", str(samples), "--every", "10ms", "--json"]
        assert main(arguments) == 0
        for output in capsys.readouterr().out.splitlines():
            groups = json.loads(output)["groups"]
            assert [(one["due"], one["waits_for"]) for one in groups] == [(None, {})] * 3
        errors = client.info("errorstats")
        return int(errors["errorstat_ERR"]["count"])

    assert refused(1) == refused(5)


def test_the_table_has_extremes_and_rates_of_the_whole_time() -> None:
    recording = Recording()
    for seconds, (lag, read, added) in enumerate([(5, 0, 5), (9, 1, 10), (3, 9, 12)]):
        recording.add([sample(seconds, lag, read, added)])
    row = table(recording).splitlines()[2].split()
    assert row == ["s/g", "3", "3", "9", "3", "0", "4.5", "3.5", "through", "in", "3.0", "s"]


def limited(stream: Connection, *limits: str) -> int:
    return main(["--url", stream.url, "--stream", "s", "--every", "10ms", *limits])


def test_a_group_over_a_limit_is_an_exit_status(stream: Connection, capsys: Capture) -> None:
    assert limited(stream, "--fail-above", "6") == 0
    assert capsys.readouterr().err == ""
    assert limited(stream, "--fail-above", "5", "--samples", "2") == 3
    captured = capsys.readouterr()
    assert captured.err == "rillway lag: s/g: 6 behind, more than 5\n"
    assert len(captured.out.splitlines()) == 5


def test_a_limit_of_no_group_at_all_is_an_error(stream: Connection, capsys: Capture) -> None:
    arguments = ["--url", stream.url, "--pattern", "nope*", "--fail-above", "1"]
    assert main(arguments) == 1
    assert capsys.readouterr().err == "rillway lag: there are no groups to check\n"


def test_a_missing_group_hides_none_that_is_over_its_limit(
    stream: Connection, capsys: Capture
) -> None:
    named = ["--group", "g", "--group", "nope"]
    assert limited(stream, "--fail-above", "5", *named) == 1
    assert capsys.readouterr().err.splitlines() == [
        "rillway lag: s/g: 6 behind, more than 5",
        "rillway lag: there is no group nope",
    ]


def test_so_is_an_entry_that_is_pending_for_too_long(link: Connection, capsys: Capture) -> None:
    link.call("XADD", "s", "*", "n", "1")
    link.call("XGROUP", "CREATE", "s", "g", "0")
    assert limited(link, "--oldest-above", "1ms") == 0
    link.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    assert limited(link, "--oldest-above", "1h") == 0
    assert limited(link, "--oldest-above", "0ms") == 3
    assert "s/g: the oldest pending entry is 0." in capsys.readouterr().err


def test_what_cannot_be_checked_is_not_taken_for_good(stream: Connection, capsys: Capture) -> None:
    assert limited(stream, "--oldest-above", "60s") == 1
    assert "s/g: the age of what is pending is unknown" in capsys.readouterr().err
    stream.call("XGROUP", "CREATE", "s", "h", "5-0")
    stream.call("XDEL", "s", "8-0")
    assert limited(stream, "--fail-above", "9") == 1
    assert "the server does not know the lag" in capsys.readouterr().err
    assert limited(stream, "--fail-above", "9", "--group", "missing") == 1
    assert "there is no group missing" in capsys.readouterr().err


def test_a_bare_number_is_no_duration(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--stream", "s", "--oldest-above", "60"])
    assert ended.value.code == 2
    assert "takes a time with a unit, such as 60s, 60ms or 60m; not '60'" in capsys.readouterr().err


def test_samples_as_json_are_an_object_each(stream: Connection, capsys: Capture) -> None:
    arguments = ["--url", stream.url, "--stream", "s", "--samples", "2", "--every", "10ms"]
    assert main([*arguments, "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    [group] = second["groups"]
    assert (group["stream"], group["group"], group["lag"], group["pending"]) == ("s", "g", 6, 4)
    assert (group["read_per_s"], group["oldest_ms"], group["consumers"]) == (0.0, None, 1)
    assert first["groups"][0]["read_per_s"] is None and first["time_ms"] < second["time_ms"]


def test_streams_of_all_nodes_of_a_cluster_are_found(
    rillway_cluster: RillwayCluster, rillway_cluster_client: redis.RedisCluster, capsys: Capture
) -> None:
    for number in range(6):
        rillway_cluster_client.xgroup_create(f"s{number}", "g", "0", mkstream=True)
        rillway_cluster_client.xadd(f"s{number}", {"n": number})
    names = [f"s{number}" for number in range(6)]
    for chosen in (["--pattern", "s?"], [word for name in names for word in ("--stream", name)]):
        assert main(["--url", rillway_cluster.url, "--samples", "1", "--json", *chosen]) == 0
        groups = json.loads(capsys.readouterr().out)["groups"]
        assert [(one["stream"], one["lag"]) for one in groups] == [(name, 1) for name in names]
