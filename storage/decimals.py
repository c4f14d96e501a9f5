"""Numbers in decimal, written into a buffer."""

from __future__ import annotations

import cython


def put_decimal(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write a number in decimal; the place after it."""
    end: cython.Py_ssize_t = place + digits_of(number)
    place = end
    two: cython.int
    while number > 9:  # two digits at a time: half the divisions of a long number
        two = number % 100
        number //= 100
        place -= 2
        out[place] = 48 + two // 10
        out[place + 1] = 48 + two % 10
        if number == 0:
            return end
    out[place - 1] = 48 + number
    return end


def digits_of(number: cython.ulonglong) -> cython.Py_ssize_t:
    """The number of digits that a number has in decimal."""
    digits: cython.Py_ssize_t = 1
    while number > 9999:
        digits += 4
        number //= 10000
    while number > 9:
        digits += 1
        number //= 10
    return digits
