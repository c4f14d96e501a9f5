"""Numbers in decimal, written into a buffer."""

from __future__ import annotations

import cython


def put_decimal(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write a number in decimal; the place after it."""
    end: cython.Py_ssize_t = place + digits_of(number)
    place = end
    while True:
        place -= 1
        out[place] = 48 + number % 10
        number //= 10
        if number == 0:
            return end


def digits_of(number: cython.ulonglong) -> cython.Py_ssize_t:
    """The number of digits that a number has in decimal."""
    digits: cython.Py_ssize_t = 1
    while number > 9:
        digits += 1
        number //= 10
    return digits
