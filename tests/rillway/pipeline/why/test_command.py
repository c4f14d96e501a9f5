"""`rillway why`, on both servers."""

from __future__ import annotations

import json

import pytest

from rillway.pipeline.why.command import main
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.group_scene import deliver_again, pending_stream

pytestmark = pytest.mark.integration

Capture = pytest.CaptureFixture[str]


def run(link: Connection, *words: str, group: str = "g") -> int:
    return main(["--url", link.url, "--stream", "s", "--group", group, "--every", "10ms", *words])


def test_findings_are_lines_with_advice_or_an_object(link: Connection, capsys: Capture) -> None:
    pending_stream(link, count=12)
    link.call("XGROUP", "CREATECONSUMER", "s", "g", "d")
    deliver_again(link, ["1-0"], 7)
    assert run(link) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[::2] == [
        "c holds 12 of 12 pending entries",
        "1-0 was delivered 7 times and never acknowledged",
    ]
    assert all(line.startswith("    ") for line in out[1::2])
    assert run(link, "--json") == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(one["text"], one["consumer"]) for one in found] == [
        (out[0], "c"), (out[2], "c"),
    ]  # fmt: skip


def test_without_findings_it_says_so(link: Connection, capsys: Capture) -> None:
    pending_stream(link, count=2)
    assert run(link) == 0
    assert capsys.readouterr().out == "nothing holds this group\n"
    assert run(link, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"findings": []}


def test_a_lag_that_the_server_does_not_know_is_looked_for(
    link: Connection, capsys: Capture
) -> None:
    for number in range(1, 6):
        link.call("XADD", "s", f"{number}-0", "a", "b")
    link.call("XGROUP", "CREATE", "s", "g", "2-0")
    link.call("XDEL", "s", "4-0")
    assert run(link) == 0
    assert capsys.readouterr().out.startswith("no consumer has ever read: new entries not")
    link.call("XDEL", "s", "3-0", "5-0")
    assert run(link) == 0
    assert capsys.readouterr().out == "nothing holds this group\n"


def test_names_of_consumers_cannot_write_to_the_terminal(link: Connection, capsys: Capture) -> None:
    pending_stream(link, count=12)
    link.call("XGROUP", "CREATECONSUMER", "s", "g", "d")
    ids = [f"{number}-0" for number in range(1, 13)]
    link.call("XCLAIM", "s", "g", "\x1b[2J\nx", 0, *ids)
    assert run(link) == 0
    assert capsys.readouterr().out.splitlines()[0] == r"\x1b[2J\nx holds 12 of 12 pending entries"


def test_what_is_missing_is_named(link: Connection, capsys: Capture) -> None:
    assert run(link) == 1
    assert "NOGROUP" in capsys.readouterr().err
    pending_stream(link)
    assert run(link, group="other") == 1
    assert "NOGROUP" in capsys.readouterr().err
    link.call("DEL", "s")
    link.call("SET", "s", "text")
    assert run(link) == 1
    assert "WRONGTYPE" in capsys.readouterr().err
