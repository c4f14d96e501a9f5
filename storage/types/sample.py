"""Numbers chosen at random without repetition."""

from __future__ import annotations

from collections.abc import Callable


def distinct_numbers(count: int, limit: int, below: Callable[[int], int]) -> list[int]:
    """`count` different numbers in [0, limit), chosen with `below(n)`, which gives one in [0, n).

    Every set is equally likely, but not every order: Floyd's algorithm, which draws `count` times,
    however close to `limit` that is.
    """
    chosen: dict[int, None] = {}
    for last in range(limit - count, limit):
        number = below(last + 1)
        chosen[last if number in chosen else number] = None
    return list(chosen)
