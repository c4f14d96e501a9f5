"""A short run of the script fuzzer, and proof that its rules would notice a fault."""

from __future__ import annotations

import math

import pytest

from commands.core.propagation import Propagation
from commands.scripting.evaluation import Scripting
from tests.fuzz.fuzz_scripts import Broken, Player, Round, draw, run

ROUNDS = 25
LOOP = "while true do end"
WRITE = "redis.call('set', 'part', 1) " + LOOP


def test_random_scripts_are_ended() -> None:
    played, problem = run(seed=1, seconds=120.0, rounds=ROUNDS, turn_seconds=math.inf)
    assert problem == ""
    assert played == ROUNDS


def test_a_seed_always_means_the_same_round() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


def play(script: str, ending: str) -> None:
    played = Round(("EVAL", script, "0"), turns=1, ending=ending, in_transaction=False)
    assert Player(played, math.inf).play()


@pytest.mark.interpreted  # a method of a C type cannot be replaced
def test_a_kill_that_is_not_obeyed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripting, "kill", lambda self, *, function: b"+OK\r\n")
    with pytest.raises(Broken, match="it goes on after its kill"):
        play(LOOP, "kill")


@pytest.mark.interpreted  # a method of a C type cannot be replaced
def test_a_part_of_a_script_in_the_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Propagation, "drop", lambda self: None)
    with pytest.raises(Broken, match="the file holds"):
        play(WRITE, "shutdown")


def test_a_turn_that_is_too_long_is_noticed() -> None:
    played = Round(("EVAL", LOOP, "0"), turns=1, ending="kill", in_transaction=False)
    with pytest.raises(Broken, match="a turn took"):
        Player(played, -1.0).play()
