"""Figures of groups over time."""

from __future__ import annotations

from rillway.console.history import RINGS, History, Ring, Sample

GROUP = (b"orders", b"mailers")


def sample(time_s: int, lag: int | None = 0) -> Sample:
    return Sample(time_s, lag, 1, None)


def test_samples_come_back_the_oldest_first_and_the_unknown_stays_unknown() -> None:
    history = History()
    history.add(GROUP, Sample(10, None, 5, 1.5))
    history.add(GROUP, Sample(11, 1 << 40, None, None))
    assert history.samples(GROUP) == [Sample(10, None, 5, 1.5), Sample(11, 1 << 40, None, None)]


def test_a_ring_keeps_the_last_ones() -> None:
    ring = Ring(1, 3)
    for time_s in range(7):
        ring.add(sample(time_s))
    assert [one.time_s for one in ring.samples()] == [4, 5, 6]


def test_a_ring_leaves_out_what_comes_before_its_step() -> None:
    ring = Ring(10, 3)
    for time_s in range(0, 60, 4):
        ring.add(sample(time_s))
    assert [one.time_s for one in ring.samples()] == [24, 36, 48]


def test_each_span_has_its_own_step_and_length() -> None:
    history = History()
    for time_s in range(4000):
        history.add(GROUP, sample(time_s))
    assert [len(history.samples(GROUP, span)) for span in ("5m", "1h", "1d")] == [300, 360, 67]
    assert RINGS[2] == (60, 1440)


def test_the_group_that_was_noted_longest_ago_makes_room() -> None:
    history = History(max_groups=2)
    for name in (b"a", b"b", b"a", b"c"):
        history.add((b"s", name), sample(len(history.samples((b"s", name)))))
    assert history.samples((b"s", b"b")) == []
    assert history.samples((b"s", b"a")) and history.samples((b"s", b"c"))
