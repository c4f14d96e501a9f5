"""How long a sampler waits after a batch."""

from __future__ import annotations

import pytest

from rillway.sampler.budget import BATCH_S, CLOCK_FACTOR, Budget


def test_a_batch_is_followed_by_ninety_nine_times_what_it_took() -> None:
    budget = Budget(0.01)
    taken_s = budget.charge(10.0, 0.1, 0.001)
    assert taken_s == pytest.approx(CLOCK_FACTOR * 0.001 + BATCH_S)
    assert budget.wait_s(10.0) == pytest.approx(99 * taken_s)
    assert budget.wait_s(10.1) == pytest.approx(99 * taken_s - 0.1)
    assert budget.wait_s(11.0) == 0


def test_waiting_behind_others_is_not_charged() -> None:
    assert Budget(0.01).charge(0.0, 5.0, 0.001) < 0.003


def test_the_round_trip_is_the_limit_and_all_there_is_without_the_servers_clock() -> None:
    assert Budget(0.01).charge(0.0, 0.0004, 0.001) == 0.0004
    assert Budget(0.01).charge(0.0, 0.0004, None) == 0.0004


def test_a_clock_that_went_back_costs_nothing_but_the_batch() -> None:
    assert Budget(0.01).charge(0.0, 1.0, -5.0) == BATCH_S


def test_a_new_connection_may_be_used_at_once() -> None:
    budget = Budget(0.01)
    budget.charge(0.0, 1.0, None)
    assert budget.wait_s(0.0) > 0
    budget.reset()
    assert budget.wait_s(0.0) == 0
