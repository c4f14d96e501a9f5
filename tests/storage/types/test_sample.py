"""storage/types/sample.py: numbers without repetition."""

from __future__ import annotations

from random import Random

from storage.types.sample import distinct_numbers


def test_numbers_are_different_and_below_the_limit() -> None:
    random = Random(1)
    for limit in range(1, 9):
        for count in range(limit + 1):
            numbers = distinct_numbers(count, limit, random.randrange)
            assert len(set(numbers)) == len(numbers) == count
            assert all(0 <= number < limit for number in numbers)


def test_every_choice_comes_about_as_often_as_any_other() -> None:
    random = Random(2)
    seen: dict[frozenset[int], int] = {}
    for _ in range(3000):
        choice = frozenset(distinct_numbers(2, 4, random.randrange))
        seen[choice] = seen.get(choice, 0) + 1
    assert len(seen) == 6
    assert all(400 < times < 600 for times in seen.values())
