"""server/tls/handshakes.py: handshakes take turns."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

from server.tls.handshakes import SLICE_US, Handshakes


def test_handshakes_take_turns_of_a_millisecond() -> None:
    scheduled: list[Callable[[], None]] = []
    loop = Mock()
    loop.call_soon = scheduled.append
    now_us = 0
    handshakes = Handshakes(loop, Mock(), Mock(), Mock(), Mock(), lambda: now_us)
    done: list[int] = []

    def go_on(number: int) -> None:
        nonlocal now_us
        now_us += SLICE_US // 2
        done.append(number)
        if number == 0:
            handshakes.enqueue(lambda: go_on(9))  # it needs one more

    for number in range(5):
        handshakes.enqueue(lambda number=number: go_on(number))  # type: ignore[misc]
    turns = []
    while scheduled:
        [run] = scheduled
        scheduled.clear()
        run()
        turns.append(done[:])
        done.clear()
    assert turns == [[0, 1], [2, 3], [4, 9]]
