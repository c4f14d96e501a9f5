"""Lag over the last minutes."""

from __future__ import annotations

from rillway.sampler import GroupFigures, StreamFigures
from rillway.top.history import KEPT_MS, History

NOW_MS = 1_795_608_005_000


def note(history: History, seconds: int, lag: int | None, name: bytes = b"s") -> None:
    group = GroupFigures(b"g", lag, 0, 0, "0-0")
    stream = StreamFigures(0, name, NOW_MS + 1000 * seconds, 0, lag=lag, groups=(group,))
    history.add({name: stream})


def cells(history: History, seconds: int = 0) -> list[int | None]:
    return history.cells(b"s", b"g", NOW_MS + 1000 * seconds, 10_000, 5)


def test_each_part_has_its_greatest_value() -> None:
    history = History()
    for second, lag in enumerate([5, 1, 7, 2, 3, 3, 0, 9, 1]):
        note(history, second - 9, lag)
    assert cells(history) == [5, 7, 3, 3, 9]


def test_a_part_without_a_sample_has_the_value_before() -> None:
    history = History()
    note(history, -30, 4)
    note(history, -3, 8)
    assert cells(history) == [4, 4, 4, 8, 8]
    assert history.cells(b"t", None, NOW_MS, 10_000, 2) == [None, None]


def test_the_same_sample_and_an_unknown_lag_are_not_noted() -> None:
    history = History()
    note(history, -5, 4)
    note(history, -5, 9)
    note(history, -1, None)
    assert cells(history) == [None, None, 4, 4, 4]


def test_old_values_and_streams_that_are_gone_are_forgotten() -> None:
    history = History()
    note(history, 0, 4)
    note(history, KEPT_MS // 1000 + 20, 1)
    assert cells(history, KEPT_MS // 1000 + 20) == [None] * 4 + [1]
    for number in range(1100):
        note(history, 0, 1, b"t%d" % number)
    assert cells(history, KEPT_MS // 1000 + 20) == [None] * 5
