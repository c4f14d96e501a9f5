"""math.random: the numbers that Redis gives."""

from __future__ import annotations

from commands.scripting.chance import Chance


def test_the_first_numbers_are_those_of_redis() -> None:
    chance = Chance()
    assert int(chance.random() * 100) + 1 == 40
    assert f"{chance.random():.14f}" == "0.84048536971234"


def test_a_seed_gives_the_same_numbers_again() -> None:
    chance = Chance()
    chance.seed(7)
    first = [chance.random() for _ in range(3)]
    chance.seed(7)
    assert [chance.random() for _ in range(3)] == first
    assert all(0 <= number < 1 for number in first)
