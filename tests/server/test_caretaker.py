"""When chores run: between the loop's cycles, and how much of its time they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from server.caretaker import BUSY_PAUSE_MS, SAVING_PAUSE_MS, TURN_US, Caretaker
from server.inprocess import InProcessServer

STEP_US = 100


class Loop:
    """What the caretaker asks of a loop, by hand. Every step of a chore takes STEP_US."""

    def __init__(self) -> None:
        self.instance = InProcessServer().instance
        self.scheduled: list[tuple[float, Callable[[], None]]] = []
        self.now_us = 0
        self.steps = 0
        self.caretaker = Caretaker(
            self.instance,
            lambda run: self.scheduled.append((0, run)),
            lambda seconds, run: self.scheduled.append((seconds * 1000, run)),
            lambda: self.now_us,
        )

    def work(self, steps: int) -> Iterator[None]:
        for _ in range(steps):
            self.now_us += STEP_US
            self.steps += 1
            yield

    def serve_a_request(self) -> None:
        self.instance.stats.cycles += 1
        self.caretaker.look()

    def run(self) -> float:
        """Run what is scheduled; how many milliseconds it was put off."""
        [(pause_ms, run)] = self.scheduled
        self.scheduled.clear()
        run()
        return pause_ms


def test_nothing_is_scheduled_without_chores() -> None:
    loop = Loop()
    loop.serve_a_request()
    assert loop.scheduled == []


def test_a_turn_ends_when_its_time_is_used_up() -> None:
    loop = Loop()
    loop.instance.chores.free(loop.work(100))
    loop.serve_a_request()
    loop.run()
    assert loop.steps == TURN_US / STEP_US
    assert loop.instance.chores.used_us == TURN_US


def test_turns_follow_at_once_while_no_request_comes() -> None:
    loop = Loop()
    loop.instance.chores.free(loop.work(100))
    loop.serve_a_request()
    loop.run()
    loop.run()  # a request came before the first turn
    while loop.scheduled:
        assert loop.run() == 0
    assert not loop.instance.chores
    assert loop.steps == 100


def test_clients_have_the_loop_to_themselves_between_two_turns() -> None:
    loop = Loop()
    loop.instance.chores.free(loop.work(100))
    for _ in range(5):
        loop.serve_a_request()
        assert loop.run() == BUSY_PAUSE_MS


def test_a_turn_is_scheduled_once_however_many_cycles_there_are() -> None:
    loop = Loop()
    loop.instance.chores.free(loop.work(1))
    loop.serve_a_request()
    loop.serve_a_request()
    assert len(loop.scheduled) == 1


def test_memory_is_freed_slowly_while_a_child_saves() -> None:
    loop = Loop()
    loop.instance.persistence.save_in_progress = True
    loop.instance.chores.free(loop.work(100))
    loop.caretaker.look()
    assert loop.run() == SAVING_PAUSE_MS
    assert loop.run() == SAVING_PAUSE_MS


def test_what_is_tidied_waits_for_the_child_to_end() -> None:
    loop = Loop()
    loop.instance.persistence.rewrite_in_progress = True
    loop.instance.chores.tidy(loop.work(1))
    loop.caretaker.look()
    loop.run()
    assert (loop.steps, loop.scheduled) == (0, [])
    loop.instance.persistence.rewrite_in_progress = False
    loop.caretaker.look()
    loop.run()
    assert loop.steps == 1


def test_no_chore_runs_after_the_end() -> None:
    loop = Loop()
    loop.instance.chores.free(loop.work(100))
    loop.serve_a_request()
    loop.caretaker.stop()
    loop.run()
    loop.caretaker.look()
    assert (loop.steps, loop.scheduled) == (0, [])
