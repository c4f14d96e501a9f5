"""Place and trim, by scripts and by WATCH: a write for each check that holds, none if one fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rillway.pipeline.archive.identity.guards import (
    ANCHOR,
    DONE,
    END,
    ENTRY,
    GROUP,
    MARKER,
    MISSING,
    OLD_ANCHOR,
    Guards,
    MarkerMove,
    Trimming,
)
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import group_infos, group_name
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import STREAM, add, live_ids

NAME = "__archive:table:token"


@pytest.fixture(params=["EVAL", "WATCH"])
def guards(
    link: Connection, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Guards:
    if request.param == "WATCH":
        monkeypatch.setattr(Capabilities, "has_command", lambda self, name: False)
    made = Guards(link)
    assert made.runs_scripts == (request.param == "EVAL")
    return made


def anchor(entry_id: str) -> Anchor:
    """Of an entry that `add` makes."""
    return Anchor(parse_id(entry_id), entry_hash([b"n", entry_id.encode()]))


def positions(link: Connection) -> dict[str, bytes]:
    return {group_name(info): info[b"last-delivered-id"] for info in group_infos(link, STREAM)}


MOVE = MarkerMove(
    NAME,
    expected=parse_id("2-0"),
    anchor=anchor("5-0"),
    end=parse_id("7-0"),
    n=5,
    old_anchor=anchor("2-0"),
    old_end=parse_id("2-0"),
)


@pytest.fixture
def entries(link: Connection) -> None:
    """1-0 to 5-0 and 8-0; the marker at 2-0."""
    add(link, *(f"{n}-0" for n in range(1, 6)), "8-0")
    link.call("XGROUP", "CREATE", STREAM, NAME, "2-0")


@pytest.mark.usefixtures("entries")
def test_the_marker_moves_over_what_is_archived(link: Connection, guards: Guards) -> None:
    assert guards.move_marker(STREAM, MOVE) == DONE
    assert positions(link) == {NAME: b"7-0"}
    [info] = group_infos(link, STREAM)
    assert info[b"entries-read"] == 5


@pytest.mark.usefixtures("entries")
def test_a_marker_is_created_only_if_there_is_none(link: Connection, guards: Guards) -> None:
    made = replace(MOVE, marker="other", expected=None, n=None)
    assert guards.move_marker(STREAM, made) == DONE
    assert guards.move_marker(STREAM, made) == MARKER
    assert guards.move_marker(STREAM, replace(MOVE, marker="third")) == MARKER
    assert positions(link) == {NAME: b"2-0", "other": b"7-0"}
    beginning = MarkerMove("fourth", expected=None, anchor=None, end=0)
    assert guards.move_marker(STREAM, beginning) == DONE


@pytest.mark.usefixtures("entries")
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"expected": parse_id("1-0")}, MARKER),
        ({"anchor": replace(anchor("5-0"), hash=entry_hash([b"n", b"6-0"]))}, ANCHOR),
        ({"anchor": anchor("6-0")}, ANCHOR),
        ({"anchor": anchor("4-0")}, ENTRY),
        ({"anchor": None}, ENTRY),
        ({"end": parse_id("8-0")}, ENTRY),
        ({"anchor": anchor("8-0"), "end": parse_id("9-0")}, END),
        ({"old_anchor": anchor("3-1")}, OLD_ANCHOR),
        ({"old_anchor": None}, OLD_ANCHOR),
    ],
)
def test_the_marker_stays_if_anything_is_not_as_expected(
    link: Connection, guards: Guards, changed: dict[str, object], reason: str
) -> None:
    assert guards.move_marker(STREAM, replace(MOVE, **changed)) == reason  # type: ignore[arg-type]
    assert positions(link) == {NAME: b"2-0"}


@pytest.mark.usefixtures("entries")
def test_all_earlier_entries_may_have_been_trimmed(link: Connection, guards: Guards) -> None:
    link.call("XTRIM", STREAM, "MINID", "3-0")
    assert guards.move_marker(STREAM, MOVE) == DONE


def test_a_key_that_is_no_stream_is_left_alone(link: Connection, guards: Guards) -> None:
    trimming = Trimming(NAME, parse_id("5-0"), anchor("5-0"), parse_id("5-0"))
    assert guards.move_marker(STREAM, MOVE) == MISSING
    assert guards.trim(STREAM, trimming) == MISSING
    link.call("SET", STREAM, "x")
    assert guards.move_marker(STREAM, MOVE) == MISSING
    assert guards.trim(STREAM, trimming) == MISSING


# -- trim -----------------------------------------------------------------------------------------

TRIMMING = Trimming(NAME, parse_id("5-0"), anchor("4-0"), parse_id("4-0"))


@pytest.fixture
def marked(link: Connection) -> None:
    """1-0 to 8-0; the marker at 5-0."""
    add(link, *(f"{n}-0" for n in range(1, 9)))
    link.call("XGROUP", "CREATE", STREAM, NAME, "5-0")


@pytest.mark.usefixtures("marked")
def test_what_is_before_the_floor_goes(link: Connection, guards: Guards) -> None:
    assert guards.trim(STREAM, TRIMMING) == 3
    assert live_ids(link)[0] == "4-0"


@pytest.mark.usefixtures("marked")
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"end": parse_id("4-0")}, MARKER),
        ({"end": parse_id("6-0")}, MARKER),
        ({"marker": "other"}, MARKER),
        ({"anchor": replace(anchor("4-0"), hash=entry_hash([b"n", b"4"]))}, ANCHOR),
        ({"anchor": anchor("4-1")}, ANCHOR),
        ({"floor": parse_id("4-1")}, ANCHOR),
        ({"anchor": anchor("6-0")}, ANCHOR),
    ],
)
def test_nothing_goes_if_anything_is_not_as_expected(
    link: Connection, guards: Guards, changed: dict[str, object], reason: str
) -> None:
    assert guards.trim(STREAM, replace(TRIMMING, **changed)) == reason  # type: ignore[arg-type]
    assert len(live_ids(link)) == 8


@pytest.mark.usefixtures("marked")
def test_nothing_goes_that_a_group_needs(link: Connection, guards: Guards) -> None:
    link.call("XGROUP", "CREATE", STREAM, "g", "1-0")
    link.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 2, "STREAMS", STREAM, ">")
    assert guards.trim(STREAM, TRIMMING) == GROUP
    assert guards.trim(STREAM, replace(TRIMMING, floor=parse_id("2-0"))) == 1
    assert guards.trim(STREAM, replace(TRIMMING, ignored=["g"])) == 2


@pytest.mark.usefixtures("marked")
def test_the_server_finds_out_itself_what_groups_need(
    rillway_link: Connection, guards: Guards
) -> None:
    guards = Guards(rillway_link)
    rillway_link.call("DEL", STREAM)
    add(rillway_link, *(f"{n}-0" for n in range(1, 9)))
    rillway_link.call("XGROUP", "CREATE", STREAM, NAME, "5-0")
    rillway_link.call("XGROUP", "CREATE", STREAM, "g", "0")
    rillway_link.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 3, "STREAMS", STREAM, ">")
    rillway_link.call("XACK", STREAM, "g", "1-0", "3-0")
    assert guards.trim(STREAM, replace(TRIMMING, acked=True)) == 2
    assert live_ids(rillway_link) == ["2-0"] + [f"{n}-0" for n in range(4, 9)]
    assert guards.trim(STREAM, replace(TRIMMING, acked=True, end=parse_id("4-0"))) == MARKER


def test_who_may_not_run_scripts_does_it_under_watch(redis_link: Connection) -> None:
    add(redis_link, *(f"{n}-0" for n in range(1, 9)))
    redis_link.call("XGROUP", "CREATE", STREAM, NAME, "5-0")
    redis_link.call("ACL", "SETUSER", "poor", "on", "nopass", "~*", "&*", "+@all", "-eval")
    with Connection(redis_link.url.replace("//", "//poor:x@")) as poor:
        guards = Guards(poor)
        assert guards.runs_scripts
        assert guards.trim(STREAM, TRIMMING) == 3
        assert not guards.runs_scripts
    redis_link.call("ACL", "DELUSER", "poor")


@pytest.mark.usefixtures("marked")
def test_other_errors_are_raised(link: Connection, guards: Guards) -> None:
    with pytest.raises(ServerError):
        guards.move_marker(STREAM, MarkerMove("g", None, anchor("8-0"), parse_id("8-0"), n=-7))
