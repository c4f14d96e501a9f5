"""How long a sampler waits after a batch."""

from __future__ import annotations

import pytest

from rillway.sampler.budget import Budget


def test_a_batch_is_followed_by_ninety_nine_times_what_it_took() -> None:
    budget = Budget(0.01)
    budget.note_ping(0.002)
    assert budget.charge(10.0, 0.003, None) == pytest.approx(0.001)
    assert budget.wait_s(10.0) == pytest.approx(0.099)
    assert budget.wait_s(10.05) == pytest.approx(0.049)
    assert budget.wait_s(11.0) == 0


def test_the_least_of_the_last_pings_is_the_network() -> None:
    budget = Budget(0.5)
    budget.note_ping(0.001)
    budget.note_ping(0.004)
    assert budget.charge(0.0, 0.005, None) == pytest.approx(0.004)
    for _ in range(10):
        budget.note_ping(0.004)
    assert budget.charge(0.0, 0.005, None) == pytest.approx(0.001)


def test_waiting_behind_others_is_not_charged() -> None:
    budget = Budget(0.01)
    budget.note_ping(0.0)
    assert budget.charge(0.0, 5.0, 0.001) == pytest.approx(0.003)


def test_a_round_trip_that_was_shorter_than_any_ping_costs_nothing() -> None:
    budget = Budget(0.01)
    budget.note_ping(1.0)
    assert budget.charge(0.0, 0.5, 0.1) == 0


def test_a_new_connection_may_be_used_at_once() -> None:
    budget = Budget(0.01)
    budget.charge(0.0, 1.0, None)
    assert budget.wait_s(0.0) > 0
    budget.reset()
    assert budget.wait_s(0.0) == 0
