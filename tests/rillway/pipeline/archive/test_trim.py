"""Trims that pass nothing a group needs, with real servers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from rillway.pipeline.archive import groups as groups_module
from rillway.pipeline.archive import trim as trim_module
from rillway.pipeline.archive.groups import Group
from rillway.pipeline.archive.identity import guards as guards_module
from rillway.pipeline.archive.pins import Pin, PinLost
from rillway.pipeline.archive.trim import Archived, Trimmed, Trimmer, TrimRules
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import all_facts, all_group_infos
from rillway.pipeline.wire.ids import format_id, parse_id
from tests.compat.conftest import compared_redis_or_skip
from tests.rillway.pipeline.archive.scene import STREAM, add, add_many, live_ids
from tests.rillway.pipeline.conftest import empty
from tests.support.programs.servers import COMPARED_REDIS, start_redis

MARKER = "__archive:a table:a token"


def trim(connection: Connection, end: str, rules: TrimRules | None = None) -> Trimmed:
    """With the marker at `end`, and the entry there as the anchor, if there is one."""
    words = ("XGROUP", "DESTROY", STREAM, MARKER), ("XGROUP", "CREATE", STREAM, MARKER, end)
    connection.call_all(words)
    entries = connection.call("XRANGE", STREAM, end, end)
    anchor = Anchor(parse_id(end), entry_hash(entries[0][1]) if entries else "of no entry")
    archived = Archived(MARKER, parse_id(end), anchor)
    return Trimmer(connection, rules or TrimRules()).trim(STREAM, archived)


@pytest.fixture
def without_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has neither ACKED nor scripts."""
    monkeypatch.setattr(Capabilities, "has_command", lambda self, name: False)
    monkeypatch.setattr(Capabilities, "has_option", lambda self, name, option: False)


@pytest.fixture
def newer_link(tmp_path: Path) -> Iterator[Connection]:
    """Redis 8.2, which has ACKED; with `~`, its XTRIM removes nothing then."""
    program = compared_redis_or_skip()
    server = start_redis(tmp_path, program=program, line=COMPARED_REDIS)
    try:
        yield from empty(server)
    finally:
        server.stop()


def test_redis_8_2_trims_what_no_group_needs(newer_link: Connection) -> None:
    add_many(newer_link, 1_000)
    assert trim(newer_link, "301-0").removed == 300
    newer_link.call("XGROUP", "CREATE", STREAM, "g", "0")
    newer_link.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 400, "STREAMS", STREAM, ">")
    acknowledged = [f"{number}-0" for number in range(301, 501)]
    newer_link.call("XACK", STREAM, "g", *acknowledged)
    assert trim(newer_link, "1000-0").removed == 200
    assert live_ids(newer_link)[0] == "501-0"
    assert trim(newer_link, "1000-0").removed == 0


def test_one_stream_finds_out_that_acked_is_in_vain(newer_link: Connection) -> None:
    """Not one of which a group needs the first entry, as nothing could be removed of that."""
    archived, names = {}, [f"s{number}" for number in range(5)]
    for name in names:
        add_many(newer_link, 10, stream=name)
        newer_link.call("XGROUP", "CREATE", name, MARKER, "10-0")
        [entry] = newer_link.call("XRANGE", name, "10-0", "10-0")
        anchor = Anchor(parse_id("10-0"), entry_hash(entry[1]))
        archived[name] = Archived(MARKER, anchor.id, anchor)
    newer_link.call("XGROUP", "CREATE", "s0", "g", "0")
    facts, infos = all_facts(newer_link, names), all_group_infos(newer_link, names)
    newer_link.call("CONFIG", "RESETSTAT")
    done = Trimmer(newer_link, TrimRules()).trim_all(archived, facts, infos)
    assert [done[name].removed for name in names] == [0, 9, 9, 9, 9]
    assert {one.by for one in done.values()} == {"script"}
    assert b"cmdstat_xtrim:calls=5," in newer_link.call("INFO", "commandstats")


def test_without_groups_all_goes_before_the_last_archived_entry(link: Connection) -> None:
    add_many(link, 10)
    assert trim(link, "7-0").removed == 6
    assert live_ids(link) == ["7-0", "8-0", "9-0", "10-0"]
    assert trim(link, "10-0").removed == 3
    assert live_ids(link) == ["10-0"]


def test_what_is_pending_or_unread_stays(link: Connection) -> None:
    add_many(link, 10)
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    link.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 6, "STREAMS", STREAM, ">")
    link.call("XACK", STREAM, "g", "1-0", "2-0", "4-0")
    trimmed = trim(link, "10-0")
    left = live_ids(link)
    assert {"3-0", "5-0", "6-0", "7-0", "8-0", "9-0", "10-0"} <= set(left)
    assert "1-0" not in left and "2-0" not in left
    [holdup] = trimmed.holdups
    assert holdup.label == "g:pending"
    assert (format_id(holdup.first_needed), holdup.pending, holdup.unread) == ("3-0", 3, 4)
    assert "the group g holds up the trim at 3-0" in holdup.sentence()


def test_a_group_that_has_read_nothing_holds_everything(link: Connection) -> None:
    add_many(link, 10)
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    trimmed = trim(link, "10-0")
    assert trimmed.removed == 0
    assert [holdup.label for holdup in trimmed.holdups] == ["g:unread"]


def test_a_group_holds_entries_up_since_the_first_live_one(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not since 0, at which the group was made."""
    now_ms = 1_795_000_000_000
    monkeypatch.setattr(trim_module, "server_time_ms", lambda _: now_ms)
    times_ms = [now_ms - 3_600_001 + number for number in range(10)]
    add(link, *(f"{ms}-0" for ms in times_ms))
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    link.call("XDEL", STREAM, f"{times_ms[0]}-0")
    [holdup] = trim(link, f"{times_ms[9]}-0").holdups
    assert format_id(holdup.first_needed) == f"{times_ms[1]}-0"
    assert holdup.since_ms == 3_600_000
    assert ", for 1 h: " in holdup.sentence()


def test_ids_that_are_no_times_have_no_age(link: Connection) -> None:
    add_many(link, 10)
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    [holdup] = trim(link, "10-0").holdups
    assert (format_id(holdup.first_needed), holdup.since_ms) == ("1-0", None)
    assert "holds up the trim at 1-0 (g:unread): " in holdup.sentence()


def test_a_group_that_needs_no_live_entry_holds_nothing_up(link: Connection) -> None:
    add(link, "5-0", "9-0")
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    assert trim(link, "5-0").holdups == []


def test_groups_are_ignored_by_name(link: Connection) -> None:
    add_many(link, 10)
    for name in ("dead", "alive"):
        link.call("XGROUP", "CREATE", STREAM, name, "0" if name == "dead" else "4-0")
    rules = TrimRules(ignored_groups=frozenset(["dead"]))
    assert trim(link, "10-0", rules).removed == 4
    assert live_ids(link)[0] == "5-0"


def test_groups_are_ignored_once_all_their_consumers_are_idle(link: Connection) -> None:
    add_many(link, 4)
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    link.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 1, "STREAMS", STREAM, ">")
    assert trim(link, "4-0", TrimRules(group_max_idle_ms=60_000)).removed == 0
    assert trim(link, "4-0", TrimRules(group_max_idle_ms=-1)).removed == 3


def test_a_group_without_consumers_is_never_idle(link: Connection) -> None:
    add_many(link, 4)
    link.call("XGROUP", "CREATE", STREAM, "g", "0")
    assert trim(link, "4-0", TrimRules(group_max_idle_ms=-1)).removed == 0


def test_the_newest_time_is_kept(link: Connection) -> None:
    add_many(link, 10)
    assert trim(link, "10-0", TrimRules(keep_ms=3)).removed == 6


@pytest.mark.usefixtures("without_scripts")
def test_watch_does_the_same(link: Connection) -> None:
    add_many(link, 10)
    link.call("XGROUP", "CREATE", STREAM, "g", "6-0")
    trimmed = trim(link, "10-0")
    assert (trimmed.by, trimmed.removed) == ("WATCH", 6)


def test_a_group_made_between_check_and_trim_is_respected(
    redis_link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_many(redis_link, 10)
    words = ("XGROUP", "CREATE", STREAM, "late", "2-0")
    after_the_first_check(monkeypatch, redis_link, *words)
    assert trim(redis_link, "10-0").removed == 2
    assert live_ids(redis_link)[0] == "3-0"


@pytest.mark.usefixtures("without_scripts")
def test_a_stream_that_has_changed_under_watch_is_checked_again(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_many(link, 10)
    checks = after_the_first_check(
        monkeypatch, link, "XADD", STREAM, "11-0", "n", "1", module=guards_module
    )
    assert trim(link, "10-0").removed == 9
    assert len(checks) == 2


def after_the_first_check(
    monkeypatch: pytest.MonkeyPatch, link: Connection, *words: str, module: Any = trim_module
) -> list[int]:
    """Runs another client's request between check and trim; returns the checks in order."""
    real = groups_module.floor_of
    checks: list[int] = []

    def floor_of(groups: list[Group], goal: int, ignored: Collection[str]) -> int:
        checks.append(real(groups, goal, ignored))
        if len(checks) == 1:
            with Connection(link.url) as other:
                other.call(*words)
        return checks[-1]

    monkeypatch.setattr(module, "floor_of", floor_of)
    return checks


def test_scripts_compare_ids_of_64_bits(redis_link: Connection) -> None:
    ids = ["9007199254740993-18446744073709551613", "9007199254740993-18446744073709551614"]
    for entry_id in ids:
        redis_link.call("XADD", STREAM, entry_id, "n", 1)
    redis_link.call("XGROUP", "CREATE", STREAM, "g", ids[0])
    redis_link.call("XADD", STREAM, "9007199254740994-0", "n", 1)
    assert trim(redis_link, "9007199254740994-0").removed == 1
    assert live_ids(redis_link) == [ids[1], "9007199254740994-0"]
    redis_link.call("XGROUP", "SETID", STREAM, "g", ids[1])
    assert trim(redis_link, "9007199254740994-0").removed == 1


def test_a_pin_holds_what_comes_after_it_until_it_is_released(link: Connection) -> None:
    add_many(link, 10)
    pin = Pin(link.url, STREAM, parse_id("4-0"))
    assert trim(link, "10-0").removed == 4
    pin.release()
    assert trim(link, "10-0").removed == 5


def test_a_pin_whose_time_is_over_is_dropped(link: Connection) -> None:
    add_many(link, 10)
    link.call("XGROUP", "CREATE", STREAM, "__pin:1000:abc", "0")
    link.call("XGROUP", "CREATE", STREAM, "__pin:not-ours", "8-0")
    assert trim(link, "10-0").removed == 8


def test_a_pin_that_was_removed_is_missed(redis_link: Connection) -> None:
    add_many(redis_link, 1)
    pin = Pin(redis_link.url, STREAM, 0)
    [group] = redis_link.call("XINFO", "GROUPS", STREAM)
    redis_link.call("XGROUP", "DESTROY", STREAM, group[1])
    with pytest.raises(PinLost):
        pin.release()


def test_a_missing_stream_is_not_an_error(link: Connection) -> None:
    assert trim(link, "7-0").removed == 0
    Pin(link.url, STREAM, 0).release()
