"""server/loop/scheduler.py: when tasks run, and their share of the loop's time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from commands.connection.client_memory import MemoryUse
from server.allocator import EXCESS_BYTES, EXCESS_PERCENT, NOTABLE_BYTES, FreeMemory
from server.inprocess.server import InProcessServer
from server.loop.scheduler import (
    BUSY_PAUSE_MS,
    BUSY_ROUND_MS,
    EXCESS_ROUND_MS,
    MOST_WHEN_BUSY_BYTES,
    OPENED_ROUND_MS,
    QUIET_CYCLES_PER_SECOND,
    QUIET_MS,
    REST_TIMES,
    SAVING_PAUSE_MS,
    SLICE_US,
    BackgroundScheduler,
)

STEP_US = 100
TICK_MS = 100
QUIET_CYCLES = 1 + QUIET_CYCLES_PER_SECOND * TICK_MS // 1000


class Loop:
    """What the background scheduler asks of a loop, by hand. Every step of a task takes STEP_US."""

    def __init__(self) -> None:
        self.instance = InProcessServer().instance
        self.scheduled: list[tuple[float, Callable[[], None]]] = []
        self.now_us = 0
        self.steps = 0
        self.free_bytes = self.resident_bytes = 0
        self.asked = 0  # what is free
        self.asking_us = 0  # what that takes
        self.given_back_ms: list[int] = []  # when
        self.background_scheduler = BackgroundScheduler(
            self.instance,
            lambda run: self.scheduled.append((0, run)),
            lambda seconds, run: self.scheduled.append((seconds * 1000, run)),
            FreeMemory(lambda: self.resident_bytes, self.ask_what_is_free, self.give_back),
            lambda: self.now_us,
        )

    def ask_what_is_free(self) -> int:
        self.asked += 1
        self.now_us += self.asking_us
        return self.free_bytes

    def give_back(self) -> None:
        self.given_back_ms.append(self.now_us // 1000)

    def tick(self, cycles: int = 0) -> None:
        """Tick after TICK_MS with that many cycles."""
        self.instance.stats.cycles += cycles
        self.now_us += TICK_MS * 1000
        self.background_scheduler.tick()

    def work(self, steps: int) -> Iterator[None]:
        for _ in range(steps):
            self.now_us += STEP_US
            self.steps += 1
            yield

    def serve_a_request(self) -> None:
        self.instance.stats.cycles += 1
        self.background_scheduler.schedule_if_needed()

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
    loop.instance.background_work.free(loop.work(100))
    loop.serve_a_request()
    loop.run()
    assert loop.steps == SLICE_US / STEP_US
    assert loop.instance.background_work.used_us == SLICE_US


def test_turns_follow_at_once_while_no_request_comes() -> None:
    loop = Loop()
    loop.instance.background_work.free(loop.work(100))
    loop.serve_a_request()
    loop.run()
    loop.run()  # a request came before the first turn
    while loop.scheduled:
        assert loop.run() == 0
    assert not loop.instance.background_work
    assert loop.steps == 100


def test_clients_have_the_loop_to_themselves_between_two_turns() -> None:
    loop = Loop()
    loop.instance.background_work.free(loop.work(100))
    for _ in range(5):
        loop.serve_a_request()
        assert loop.run() == BUSY_PAUSE_MS


def test_a_turn_is_scheduled_once_however_many_cycles_there_are() -> None:
    loop = Loop()
    loop.instance.background_work.free(loop.work(1))
    loop.serve_a_request()
    loop.serve_a_request()
    assert len(loop.scheduled) == 1


def test_memory_is_freed_slowly_while_a_child_saves() -> None:
    loop = Loop()
    loop.instance.persistence.save_in_progress = True
    loop.instance.background_work.free(loop.work(100))
    loop.background_scheduler.schedule_if_needed()
    assert loop.run() == SAVING_PAUSE_MS
    assert loop.run() == SAVING_PAUSE_MS


def test_tidying_waits_for_the_child_to_end() -> None:
    loop = Loop()
    loop.instance.persistence.rewrite_in_progress = True
    loop.instance.background_work.tidy(loop.work(1))
    loop.background_scheduler.schedule_if_needed()
    loop.run()
    assert (loop.steps, loop.scheduled) == (0, [])
    loop.instance.persistence.rewrite_in_progress = False
    loop.background_scheduler.schedule_if_needed()
    loop.run()
    assert loop.steps == 1


def test_no_chore_runs_after_the_end() -> None:
    loop = Loop()
    loop.instance.background_work.free(loop.work(100))
    loop.serve_a_request()
    loop.background_scheduler.stop()
    loop.run()
    loop.background_scheduler.schedule_if_needed()
    assert (loop.steps, loop.scheduled) == (0, [])


def test_free_memory_is_returned_when_the_loop_has_been_idle_for_a_while() -> None:
    loop = Loop()
    loop.free_bytes = NOTABLE_BYTES
    loop.tick(cycles=1000)
    for _ in range(20):
        loop.tick(cycles=QUIET_CYCLES)
    assert loop.given_back_ms == [TICK_MS + QUIET_MS]


def test_free_memory_is_not_measured_again_if_nothing_has_run() -> None:
    loop = Loop()
    for _ in range(20):
        loop.tick()
    asked = loop.asked
    for _ in range(20):
        loop.tick()
    assert loop.asked == asked
    loop.instance.stats.reads_processed += 1
    for _ in range(20):
        loop.tick()
    assert loop.asked == asked + 1


def test_the_longer_a_measurement_takes_the_fewer_there_are() -> None:
    loop = Loop()
    loop.asking_us = 3_000
    for _ in range(3_000 * REST_TIMES // 1000 // TICK_MS):
        loop.instance.stats.reads_processed += 1
        loop.tick()
    assert loop.asked == 2  # at the start, and after the first quiet moment
    loop.free_bytes = NOTABLE_BYTES
    for _ in range(10):
        loop.instance.stats.reads_processed += 1
        loop.tick()
    assert len(loop.given_back_ms) == 1


def test_nothing_is_given_back_while_clients_are_served() -> None:
    loop = Loop()
    loop.free_bytes = NOTABLE_BYTES
    for _ in range(20):
        loop.tick(cycles=QUIET_CYCLES + 1)
    assert loop.given_back_ms == []


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("child_lives", [False, True])
def test_under_a_limit_a_busy_server_gives_back_what_is_beyond_its_use(
    is_large: bool, child_lives: bool
) -> None:
    loop = Loop()
    loop.instance.limits_memory = True
    loop.instance.persistence.save_in_progress = child_lives
    used = loop.instance.feature(MemoryUse).used_bytes()
    loop.free_bytes = NOTABLE_BYTES
    loop.resident_bytes = used + used * EXCESS_PERCENT // 100 + EXCESS_BYTES + is_large
    for _ in range(2 * EXCESS_ROUND_MS // TICK_MS - 1):
        loop.tick(cycles=QUIET_CYCLES + 1)
    is_due = is_large and not child_lives
    assert loop.given_back_ms == ([EXCESS_ROUND_MS] if is_due else [])


@pytest.mark.parametrize("child_lives", [False, True])
def test_without_a_limit_a_busy_loop_returns_free_memory_once_in_a_while(child_lives: bool) -> None:
    loop = Loop()
    loop.instance.persistence.save_in_progress = child_lives
    loop.free_bytes = NOTABLE_BYTES
    for _ in range(BUSY_ROUND_MS // TICK_MS):
        loop.tick(cycles=QUIET_CYCLES + 1)
    assert loop.given_back_ms == ([] if child_lives else [BUSY_ROUND_MS])


def test_a_busy_loop_does_not_return_so_much_that_it_takes_long() -> None:
    loop = Loop()
    loop.free_bytes = loop.resident_bytes = 2 * MOST_WHEN_BUSY_BYTES
    for _ in range(BUSY_ROUND_MS // TICK_MS):
        loop.tick(cycles=QUIET_CYCLES + 1)
    assert loop.given_back_ms == []


def test_nothing_is_given_back_while_a_child_saves() -> None:
    loop = Loop()
    loop.free_bytes = NOTABLE_BYTES
    loop.instance.persistence.save_in_progress = True
    for _ in range(20):
        loop.tick()
    assert loop.given_back_ms == []
    loop.instance.persistence.save_in_progress = False
    for _ in range(20):
        loop.tick()
    assert len(loop.given_back_ms) == 1


def shares_of_ticks(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The shares of opened nodes that five ticks look at."""
    shares: list[float] = []
    monkeypatch.setattr(loop.instance.entry_cache, "age", shares.append)
    for _ in range(5):
        loop.tick()
    return shares


def test_opened_nodes_age_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = shares_of_ticks(Loop(), monkeypatch)
    assert sum(shares) == pytest.approx(5 * TICK_MS / OPENED_ROUND_MS)


def test_opened_nodes_stay_while_a_child_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop()
    loop.instance.persistence.rewrite_in_progress = True
    assert shares_of_ticks(loop, monkeypatch) == []


def test_an_answer_does_not_wait_for_a_child_to_end() -> None:
    loop = Loop()
    loop.instance.persistence.save_in_progress = True
    loop.instance.background_work.answer(loop.work(100))
    loop.background_scheduler.schedule_if_needed()
    assert loop.run() < SAVING_PAUSE_MS
