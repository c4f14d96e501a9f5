"""math.random of scripts: the same numbers after the same seed, on every server.

Source: POSIX, drand48: the generator that Redis took for scripts, with its first state.
"""

from __future__ import annotations

_MULTIPLIER, _INCREMENT, _MODULUS = 0x5DEECE66D, 0xB, 1 << 48
_FIRST_STATE = 0x1234ABCD330E
_LOW_BITS_OF_A_SEED = 0x330E
_LIMIT = (1 << 31) - 1


class Chance:
    """One interpreter's sequence."""

    def __init__(self) -> None:
        self._state = _FIRST_STATE

    def random(self) -> float:
        """The next number in [0, 1)."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) % _MODULUS
        return (self._state >> 17) % _LIMIT / _LIMIT

    def seed(self, value: float) -> None:
        """math.randomseed."""
        self._state = (int(value) & 0xFFFFFFFF) << 16 | _LOW_BITS_OF_A_SEED
