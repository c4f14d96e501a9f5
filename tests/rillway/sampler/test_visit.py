"""What is asked about one stream, and what comes of it."""

from __future__ import annotations

import pytest

from rillway.sampler.figures import GroupFigures, StreamFigures
from rillway.sampler.replies import Words
from rillway.sampler.visit import Asked, Visit, Wishes, of_the_worst
from tests.rillway.sampler.canned import NOW_MS, CannedGroup, CannedServer, CannedStream


def answered(server: CannedServer, asked: list[Asked]) -> list[Words]:
    words = [one for one, _ in asked]
    for (_, take), reply in zip(asked, server.call_all(words), strict=True):
        take(reply)
    return words


@pytest.fixture
def server() -> CannedServer:
    server = CannedServer("8.10.0 rillway")
    groups = {"g": CannedGroup({"c": (2, 5)}, lag=3), "h": CannedGroup({"d": (0, 5)}, lag=9)}
    policy = [b"ack-journal", b"acks", b"ack-journal-maxlen", 1000]
    server.streams["s"] = CannedStream(10, 12, groups, policy=policy)
    return server


def figures(server: CannedServer, before: StreamFigures | None, wishes: Wishes) -> StreamFigures:
    visit = Visit(b"s", before, wishes)
    answered(server, visit.requests())
    visit.note_time(NOW_MS)
    answered(server, visit.follow_up())
    assert not visit.is_waiting
    return visit.figures(2, 60_000)


def test_new_groups_are_asked_about_in_a_second_batch(server: CannedServer) -> None:
    visit = Visit(b"s", None, Wishes())
    assert answered(server, visit.requests()) == [
        ("XINFO", "STREAM", b"s"),
        ("XINFO", "GROUPS", b"s"),
    ]
    assert answered(server, visit.follow_up()) == [
        ("XPENDING", b"s", b"g"),
        ("XINFO", "CONSUMERS", b"s", b"g"),
    ]
    assert visit.follow_up() == [] and not visit.is_waiting
    visit.note_time(NOW_MS)
    visit.note_time(NOW_MS + 1000)
    found = visit.figures(2, 60_000)
    assert found.time_ms == NOW_MS
    assert (found.db, found.lag, found.pending, found.oldest_ms) == (2, 9, 2, 5000)


def test_known_groups_are_asked_about_at_once(server: CannedServer) -> None:
    before = figures(server, None, Wishes())
    visit = Visit(b"s", before, Wishes(is_opened=True, memory=True, policy=True))
    asked = answered(server, visit.requests())
    assert ("XPENDING", b"s", b"h") in asked and ("XINFO", "POLICY", b"s") in asked
    assert visit.follow_up() == []
    found = visit.figures(2, 60_000)
    assert found.policy == {"ack-journal": "acks", "ack-journal-maxlen": 1000}
    assert found.memory_bytes == 1000


def test_memory_that_is_not_asked_for_again_stays_known(server: CannedServer) -> None:
    before = figures(server, None, Wishes(memory=True))
    assert figures(server, before, Wishes()).memory_bytes == 1000


def test_a_group_with_very_many_consumers_is_not_asked_about_them(server: CannedServer) -> None:
    members = {f"c{number}": (1, 5) for number in range(1001)}
    server.streams["s"].groups = {"g": CannedGroup(members)}
    [group] = figures(server, None, Wishes(is_opened=True)).groups or ()
    assert (group.consumer_count, group.pending, group.consumers) == (1001, 1001, None)


def test_a_stream_that_is_gone_or_something_else_is_missing(server: CannedServer) -> None:
    for wishes in (Wishes(), Wishes(is_large=True)):
        visit = Visit(b"gone", None, wishes)
        answered(server, visit.requests())
        assert visit.is_missing


def test_a_group_destroyed_meanwhile_has_no_consumers(server: CannedServer) -> None:
    visit = Visit(b"s", None, Wishes())
    answered(server, visit.requests())
    for _, take in visit.follow_up():
        take(KeyError("NOGROUP"))
    [group, _] = visit.figures(0, 60_000).groups or ()
    assert group.consumers is None and group.oldest_ms is None


def test_a_streams_figures_are_those_of_its_worst_group() -> None:
    groups = (
        GroupFigures(b"a", None, 5, 0, "0-0", oldest_ms=10, out_per_s=2.0),
        GroupFigures(b"b", 7, 0, 0, "0-0", out_per_s=3.0),
    )
    assert of_the_worst(groups) == {"lag": 7, "pending": 5, "oldest_ms": 10, "out_per_s": 5.0}
    assert set(of_the_worst(()).values()) == {None}


POLICY = [b"ack-wait", 1000, b"due", 1, b"dead-lettered", 4]


def test_groups_are_asked_for_their_policies_where_the_stream_says_that_some_have_one(
    server: CannedServer,
) -> None:
    server.streams["s"].groups["h"].policy = POLICY
    visit = Visit(b"s", None, Wishes())
    answered(server, visit.requests())
    assert ("XINFO", "POLICY", b"s") in answered(server, visit.follow_up(has_policies=True))
    assert answered(server, visit.follow_up(has_policies=True)) == [
        ("XINFO", "POLICY", b"s", b"g"),
        ("XINFO", "POLICY", b"s", b"h"),
    ]
    assert visit.follow_up(has_policies=True) == []
    visit.note_time(NOW_MS)
    found = visit.figures(2, 60_000)
    g, h = found.groups or ()
    assert (g.due, g.policy, g.waits_for) == (None, {}, {})
    assert (h.due, h.dead_letters, h.waits_for) == (1, 4, {"read": 1})
    # The next time, one batch has it all.
    visit = Visit(b"s", found, Wishes(policy=True))
    asked = answered(server, visit.requests())
    assert {("XINFO", "POLICY", b"s", b"g"), ("XINFO", "POLICY", b"s", b"h")} <= set(asked)
    assert visit.finds_policies is True and visit.follow_up(has_policies=True) == []


def test_a_stream_without_policies_costs_one_request(server: CannedServer) -> None:
    visit = Visit(b"s", None, Wishes(policy=True))
    asked = answered(server, visit.requests()) + answered(
        server, visit.follow_up(has_policies=True)
    )
    assert [words for words in asked if words[1] == "POLICY"] == [("XINFO", "POLICY", b"s")]
    assert visit.follow_up(has_policies=True) == []
