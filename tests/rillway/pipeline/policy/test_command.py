"""`rillway policy` on a server, and what servers without policies answer."""

from __future__ import annotations

import json

import pytest

from rillway.pipeline.policy.command import main
from rillway.pipeline.wire.connection import Connection
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration

Capture = pytest.CaptureFixture[str]
GROUP = ("--ack-wait", "30s", "--backoff", "1s,10s", "--max-deliveries", "5")
DEAD = ("--dead-letter", "s:dead")


@pytest.fixture
def link(rillway_link: Connection) -> Connection:
    rillway_link.call("XADD", "s", "*", "a", "1")
    rillway_link.call("XGROUP", "CREATE", "s", "g", "0")
    return rillway_link


def ran(link: Connection, *arguments: str) -> int:
    return main(["--url", link.url, "--stream", "s", *arguments])


def shown(link: Connection, capsys: Capture, *arguments: str) -> dict[str, object]:
    assert ran(link, "--json", *arguments) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_it_sets_what_is_named_and_says_what_all_means(link: Connection, capsys: Capture) -> None:
    assert ran(link, "--retain", "7d") == 0
    assert ran(link, "--group", "g", *GROUP, *DEAD) == 0
    assert capsys.readouterr().out.splitlines() == [
        "s: entries are removed that are older than 7 d",
        "s: entries are removed that are older than 7 d",
        "s/g: an entry that is not acknowledged within 30 s goes to another consumer after 1 s, "
        "and 10 s from then on; after 5 deliveries it moves to s:dead",
    ]
    found = shown(link, capsys, "--group", "g", "--retain", "off", "--max-pending", "7")
    assert found["stream_policy"] == {}
    assert found["group_policy"] == {
        "ack_wait": 30_000,
        "backoff": [1000, 10_000],
        "max_deliveries": 5,
        "dead_letter": "s:dead",
        "max_pending": 7,
    }


def test_a_dry_run_changes_nothing(link: Connection, capsys: Capture) -> None:
    assert ran(link, "--group", "g", "--retain", "7d", "--ack-wait", "1s", "--dry-run") == 0
    out = capsys.readouterr().out
    assert out.startswith("would mean: s: entries are removed that are older than 7 d\n")
    found = shown(link, capsys, "--group", "g")
    assert (found["stream_policy"], found["group_policy"]) == ({}, {})


@pytest.mark.parametrize(
    "wrong",
    [
        ("--retain", "7d", "--ack-wait", "off"),
        ("--retain-hard-bytes", "1kb", "--retain-bytes", "2kb", "--max-pending", "3"),
    ],
)
def test_stream_and_group_are_set_together_or_not_at_all(
    link: Connection, capsys: Capture, wrong: tuple[str, ...]
) -> None:
    assert ran(link, "--group", "g", *GROUP, *DEAD) == 0
    capsys.readouterr()
    assert ran(link, "--group", "g", *wrong) == 1
    error = capsys.readouterr().err
    assert error.startswith("rillway policy: ERR ")
    assert error.count("\n") == 1
    found = shown(link, capsys, "--group", "g")
    assert found["stream_policy"] == {}
    assert "max_pending" not in str(found["group_policy"])
    assert "'ack_wait': 30000" in str(found["group_policy"])


def test_both_at_once(link: Connection, capsys: Capture) -> None:
    found = shown(link, capsys, "--group", "g", "--retain", "7d", *GROUP, *DEAD)
    assert found["stream_policy"] == {"retain_ms": 604_800_000}
    assert "'dead_letter': 's:dead'" in str(found["group_policy"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(("--group", "none"), "No such consumer group"), (("--stream", "none"), "no such key")],
)
def test_it_creates_nothing(
    link: Connection, capsys: Capture, arguments: tuple[str, ...], reason: str
) -> None:
    assert ran(link, "--retain", "7d", *arguments) == 1
    assert reason in capsys.readouterr().err
    assert link.call("EXISTS", "none") == 0
    assert shown(link, capsys)["stream_policy"] == {}


def test_what_cannot_work_well_is_warned_of(link: Connection, capsys: Capture) -> None:
    assert ran(link, "--group", "g", "--retain", "5s", *GROUP, *DEAD) == 0
    errors = capsys.readouterr().err.splitlines()
    assert [text.partition(" of ")[0] for text in errors] == [
        "warning: a pause",
        "warning: the time to acknowledge (30 s) is longer than entries are kept (5 s): "
        "no entry is delivered again",
    ]


def test_a_redis_has_none(redis_server: RunningServer, capsys: Capture) -> None:
    with Connection(f"redis://127.0.0.1:{redis_server.port}") as link:
        link.call("XADD", "s", "*", "a", "1")
        assert ran(link) == 1
        assert ran(link, "--retain", "7d") == 1
        link.call("DEL", "s")
    assert all(
        text.startswith("rillway policy: only Rillway has policies of streams and groups: ")
        for text in capsys.readouterr().err.splitlines()
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--ack-wait", "30s"), "--group is needed for --ack-wait"),
        (("--retain", "7"), "a time with a unit"),
        (("--retain", "0"), "a time of at least 1 ms, or off"),
    ],
)
def test_wrong_arguments_end_with_2(
    capsys: Capture, arguments: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--stream", "s", *arguments])
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err
