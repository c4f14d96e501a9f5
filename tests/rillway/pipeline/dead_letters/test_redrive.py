"""Dead letters go back to their stream, each once."""

from __future__ import annotations

import pytest

from rillway.pipeline.dead_letters import redrive
from rillway.pipeline.dead_letters.command import main
from rillway.pipeline.dead_letters.mover import Mover, MoveReport, Rules
from rillway.pipeline.wire.connection import Connection, ServerError
from tests.rillway.pipeline.group_scene import pending_stream
from tests.rillway.pipeline.scene import stream_ids

pytestmark = pytest.mark.integration

# What an entry that was a dead letter once has besides its own fields.
ONCE = (b"rillway-hops", b"1")


@pytest.fixture
def dead(link: Connection) -> Connection:
    """All five entries of `s` are dead letters of group `g`; one comes from elsewhere."""
    pending_stream(link, count=5)
    for _ in Mover(link, "s", "dead", Rules(0)).move("g", MoveReport("s", "g")):
        pass
    link.call("XADD", "dead", "*", "n", "other", "rillway-stream", "other", "rillway-group", "g")
    link.call("XTRIM", "s", "MAXLEN", 0)
    return link


def send(link: Connection, *groups: str) -> list[int]:
    return list(redrive.redrive(link, "dead", "s", groups))


@pytest.mark.parametrize("page", [1, 2, 100])
def test_what_came_from_the_stream_goes_back_in_order(
    dead: Connection, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "PAGE_ENTRIES", page)
    assert sum(send(dead)) == 5
    bodies = [fields for _, fields in dead.call("XRANGE", "s", "-", "+")]
    assert bodies == [[b"n", f"{number}-0".encode(), *ONCE] for number in range(1, 6)]
    [[_, left]] = dead.call("XRANGE", "dead", "-", "+")
    assert left[:2] == [b"n", b"other"]
    assert sum(send(dead)) == 0


def test_how_often_an_entry_was_a_dead_letter_goes_back_with_it(link: Connection) -> None:
    pending_stream(link, count=1)
    for hops in (1, 2, 3):
        for _ in Mover(link, "s", "dead", Rules(0)).move("g", MoveReport("s", "g")):
            pass
        [[_, letter]] = link.call("XRANGE", "dead", "-", "+")
        assert letter.count(b"rillway-hops") == 1
        assert letter[letter.index(b"rillway-hops") + 1] == b"%d" % hops
        assert sum(send(link)) == 1
        link.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")


def test_one_dead_letter_goes_back_and_only_once(dead: Connection) -> None:
    first, *_, elsewhere = stream_ids(dead, "dead")
    assert redrive.redrive_entry(dead, "dead", "s", first)
    assert not redrive.redrive_entry(dead, "dead", "s", first)
    assert not redrive.redrive_entry(dead, "dead", "s", elsewhere)
    assert [fields for _, fields in dead.call("XRANGE", "s", "-", "+")] == [[b"n", b"1-0", *ONCE]]


def test_only_the_groups_that_are_named_get_theirs_back(dead: Connection) -> None:
    assert sum(send(dead, "h")) == 0
    assert sum(send(dead, "h", "g")) == 5


def test_nothing_is_deleted_that_cannot_be_added(dead: Connection) -> None:
    dead.call("DEL", "s")
    dead.call("SET", "s", "v")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        send(dead)
    assert dead.call("XLEN", "dead") == 6


def test_without_dead_letters_there_is_nothing_to_do(link: Connection) -> None:
    link.call("DEL", "dead")
    assert send(link) == []


def test_the_command_says_how_many_went_back(
    dead: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--url", dead.url, "--stream", "s", "--to", "dead", "--back"]) == 0
    assert capsys.readouterr().out == "s: 5 moved back from dead\n"
    assert len(stream_ids(dead, "s")) == 5


@pytest.mark.parametrize("more", [[], ["--back", "--more-than", "3"], ["--back", "--dry-run"]])
def test_the_command_goes_one_way(more: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--stream", "s", "--to", "dead", *more])
