"""A group's rate, its dead consumers, and what moved between them."""

from __future__ import annotations

from rillway.sampler.figures import ConsumerFigures, GroupFigures, Move
from rillway.sampler.groups import Interval, group_figures, is_dead, moves_between, with_consumers

NOW_MS = 1_795_608_005_000
SECOND = Interval(NOW_MS, NOW_MS - 1000)
DEAD_AFTER_MS = 60_000


def consumer(name: str, pending: int, idle_ms: int, *, dead: bool = False) -> ConsumerFigures:
    return ConsumerFigures(name.encode(), pending, idle_ms, is_dead=dead)


def group(*consumers: ConsumerFigures, delivered: str = "5-0", read: int = 0) -> GroupFigures:
    pending = sum(one.pending for one in consumers)
    return GroupFigures(b"g", 0, pending, read, delivered, consumers=consumers)


def moves(
    before: list[ConsumerFigures], after: list[ConsumerFigures], *, is_idle: bool = False
) -> list[tuple[bytes, bytes | None, int]]:
    found = moves_between({one.name: one for one in before}, after, SECOND, is_idle=is_idle)
    return [(move.giver, move.taker, move.entries) for move in found]


def test_idle_alone_does_not_make_a_consumer_dead() -> None:
    assert not is_dead(consumer("c", 0, 90_000), None, SECOND, DEAD_AFTER_MS)
    assert not is_dead(consumer("c", 5, 60_000), None, SECOND, DEAD_AFTER_MS)
    assert is_dead(consumer("c", 5, 60_001), None, SECOND, DEAD_AFTER_MS)


def test_it_stays_dead_until_it_is_seen_again() -> None:
    before = consumer("c", 5, 90_000, dead=True)
    assert is_dead(consumer("c", 0, 91_000), before, SECOND, DEAD_AFTER_MS)
    assert not is_dead(consumer("c", 0, 400), before, SECOND, DEAD_AFTER_MS)


def test_entries_claimed_from_a_consumer_that_was_not_seen_go_to_those_that_have_more() -> None:
    before = [consumer("carla", 16, 90_000), consumer("anna", 30, 5)]
    after = [consumer("carla", 4, 91_000), consumer("anna", 42, 5)]
    assert moves(before, after) == [(b"carla", b"anna", 12)]


def test_what_the_taker_has_acknowledged_already_has_no_known_taker() -> None:
    before = [consumer("carla", 16, 90_000), consumer("anna", 30, 5)]
    after = [consumer("carla", 4, 91_000), consumer("anna", 33, 5)]
    assert moves(before, after) == [(b"carla", None, 12)]
    assert moves(before, after, is_idle=True) == [(b"carla", b"anna", 3), (b"carla", None, 9)]


def test_consumers_that_read_and_acknowledge_move_nothing() -> None:
    before = [consumer("anna", 5, 5), consumer("bob", 5, 5)]
    after = [consumer("anna", 8, 5), consumer("bob", 2, 5)]
    assert moves(before, after) == []


def test_where_nothing_new_was_delivered_whatever_was_gained_was_claimed() -> None:
    before = [consumer("anna", 5, 5), consumer("bob", 5, 5)]
    after = [consumer("anna", 8, 5), consumer("bob", 1, 5)]
    assert moves(before, after, is_idle=True) == [(b"bob", b"anna", 3)]


def test_moves_are_shown_for_a_minute() -> None:
    before = group(consumer("carla", 16, 90_000), consumer("anna", 30, 5))
    old = Move(NOW_MS - 60_000, b"x", b"anna", 1)
    recent = Move(NOW_MS - 59_000, b"carla", b"anna", 2)
    before = GroupFigures(b"g", 0, 46, 0, "5-0", consumers=before.consumers, moves=(old, recent))
    members = [consumer("carla", 6, 91_000), consumer("anna", 40, 5)]
    after = with_consumers(group(), members, before, SECOND, DEAD_AFTER_MS)
    assert [one.moved for one in after.consumers or ()] == [-12, 12]
    assert after.moves == (recent, Move(NOW_MS, b"carla", b"anna", 10))
    assert after.dead_count == 1


def test_a_rate_needs_two_counters_that_go_up() -> None:
    assert SECOND.rate(5, 15) == 10
    assert SECOND.rate(15, 5) is None
    assert SECOND.rate(None, 5) is SECOND.rate(5, None) is None
    assert Interval(NOW_MS, None).rate(5, 15) is None


def test_a_group_whose_consumers_were_not_asked_for_has_none_known() -> None:
    info = {
        b"name": b"g", b"consumers": 2, b"pending": 3, b"last-delivered-id": b"9-0",
        b"entries-read": 30, b"lag": None,
    }  # fmt: skip
    pending = [3, b"%d-0" % (NOW_MS - 500), b"9-0", []]
    found = group_figures(info, pending, None, None, group(read=20), SECOND, DEAD_AFTER_MS)
    assert (found.lag, found.out_per_s, found.oldest_ms) == (None, 10, 500)
    assert found.consumers is None and found.dead_count is None and found.consumer_count == 2
