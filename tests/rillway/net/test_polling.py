"""Polls end when something holds, or at the deadline. Without sleeping."""

from __future__ import annotations

from rillway.net.polling import poll


class FakeClock:
    """A clock that a sleep moves on."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds


def test_what_holds_at_once_is_returned_without_a_pause() -> None:
    clock = FakeClock()
    assert poll(lambda: "yes", 0.0, clock=clock) == "yes"
    assert clock.now == 100.0


def test_a_poll_ends_when_it_holds() -> None:
    clock = FakeClock()
    assert poll(lambda: clock.now >= 103, 10.0, pause_s=1.0, clock=clock)
    assert clock.now == 103.0


def test_a_poll_asks_once_more_after_its_deadline() -> None:
    clock, asked = FakeClock(), list[float]()

    def never() -> None:
        asked.append(clock.now)

    assert poll(never, 2.0, pause_s=1.0, clock=clock) is None
    assert asked == [100.0, 101.0, 102.0, 103.0]
