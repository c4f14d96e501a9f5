"""Fast random numbers, for choices that need no protection against prediction.

An xorshift64* generator: a few instructions, where the system's source of randomness takes a
microsecond a number. Its start comes from there, so that clients cannot know what comes next.
"""

from __future__ import annotations

import cython

_MASK = (1 << 64) - 1
_MULTIPLIER: cython.ulonglong = 0x2545F4914F6CDD1D


@cython.cclass
class Chance:
    """A sequence of random numbers."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """`seed`: any number in [0, 2**63)."""
        self._state = seed | 1

    def below(self, limit: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """A number in [0, limit), for a limit up to 2**31."""
        state: cython.ulonglong = self._state
        state ^= state >> 12
        state = (state << 25 ^ state) & _MASK
        state ^= state >> 27
        self._state = state
        return ((state * _MULTIPLIER & _MASK) >> 33) % limit
