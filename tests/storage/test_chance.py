"""Fast random numbers."""

from __future__ import annotations

from collections import Counter

from storage.chance import Chance


def test_numbers_are_below_the_limit_and_equally_frequent() -> None:
    chance = Chance(1)
    counts = Counter(chance.below(10) for _ in range(10_000))
    assert set(counts) == set(range(10))
    assert all(800 < count < 1200 for count in counts.values())


def test_one_number_is_certain() -> None:
    assert {Chance(seed).below(1) for seed in range(20)} == {0}


def test_a_seed_determines_the_sequence() -> None:
    one, same, other = Chance(7), Chance(7), Chance(1 << 61)
    numbers = [one.below(1000) for _ in range(20)]
    assert numbers == [same.below(1000) for _ in range(20)]
    assert numbers != [other.below(1000) for _ in range(20)]
