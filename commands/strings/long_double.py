"""Numbers as INCRBYFLOAT counts with them: the 80-bit floats that C calls long double.

A number is kept as the exact fraction that it stands for, so that parsing, adding and printing
round just where a processor with such floats does: to 64 significant bits when a number is read
and when two are added, to 17 decimals when one is printed. Python's own floats have 53 bits, with
which 5.0e3 + 2.0e2 comes out right and 0.1 + 0.2 does not.

Source: Redis 7.2 on x86-64 with glibc.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction  # not at the start of a server

# Redis copies the text into a buffer of 5 KiB before it reads it.
MAX_TEXT_BYTES = 5 * 1024 - 1
SIGNIFICANT_BITS = 64
LEAST_EXPONENT = -16445  # of the smallest number there is
GREATEST_EXPONENT = 16384  # of the smallest number there is not
DECIMALS = 17

# Greater exponents make no difference: the digits of a text cannot make up for them.
DECIMAL_EXPONENT_BOUND = MAX_TEXT_BYTES + 5_000
BINARY_EXPONENT_BOUND = 4 * MAX_TEXT_BYTES + 20_000

# Compiled when first used.
_DECIMAL = rb"(?i)(?P<sign>[+-]?)(?=\.?\d)(?P<digits>\d*\.?\d*)(?:e(?P<exponent>[+-]?\d+))?"
_HEXADECIMAL = (
    rb"(?i)(?P<sign>[+-]?)0x(?=\.?[\da-f])(?P<whole>[\da-f]*)\.?(?P<part>[\da-f]*)"
    rb"(?:p(?P<exponent>[+-]?\d+))?"
)
_INFINITE = rb"(?i)[+-]?inf(inity)?"


class NotFinite(ArithmeticError):
    """The number is infinite, or would be."""


def parse(text: bytes) -> Fraction:
    """The number that `text` stands for, in the notations of C's strtold.

    Raises ValueError if it stands for none, or for one that is too great or too small;
    NotFinite if it says that it is infinite.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise ValueError("the text is too long")
    if re.fullmatch(_INFINITE, text):
        raise NotFinite
    exact = _parse_exactly(text)
    try:
        number = nearest(exact)
    except NotFinite:
        raise ValueError("the number is too great") from None
    if exact and not number:
        raise ValueError("the number is too small")
    return number


def _parse_exactly(text: bytes) -> Fraction:
    from decimal import Decimal
    from fractions import Fraction

    if match := re.fullmatch(_DECIMAL, text):
        digits = Fraction(Decimal(match["digits"].decode()))
        number = digits * Fraction(10) ** _exponent(match, DECIMAL_EXPONENT_BOUND)
    elif match := re.fullmatch(_HEXADECIMAL, text):
        exponent = _exponent(match, BINARY_EXPONENT_BOUND) - 4 * len(match["part"])
        number = _shift(Fraction(int(match["whole"] + match["part"], 16)), exponent)
    else:
        raise ValueError("not a number")
    return -number if match["sign"] == b"-" else number


def _exponent(match: re.Match[bytes], bound: int) -> int:
    """The exponent, no further from 0 than `bound`."""
    text = match["exponent"] or b"0"
    digits = text.lstrip(b"+-0")
    size = min(int(digits or b"0"), bound) if len(digits) <= len(str(bound)) else bound
    return -size if text[:1] == b"-" else size


def add(left: Fraction, right: Fraction) -> Fraction:
    """The sum. Raises NotFinite."""
    return nearest(left + right)


def nearest(number: Fraction) -> Fraction:
    """The long double nearest to `number`; of two as near, the even one. Raises NotFinite."""
    if not number:
        return number
    unit_exponent = max(_magnitude(number) - SIGNIFICANT_BITS + 1, LEAST_EXPONENT)
    rounded = _shift(type(number)(round(_shift(number, -unit_exponent))), unit_exponent)
    if rounded and _magnitude(rounded) >= GREATEST_EXPONENT:
        raise NotFinite
    return rounded


def _magnitude(number: Fraction) -> int:
    """The exponent of the greatest power of two that is no greater than |number|."""
    guess = abs(number.numerator).bit_length() - number.denominator.bit_length()
    return guess if abs(_shift(number, -guess)) >= 1 else guess - 1


def _shift(number: Fraction, bits: int) -> Fraction:
    """`number` times two to the power of `bits`."""
    if bits >= 0:
        return type(number)(number.numerator << bits, number.denominator)
    return type(number)(number.numerator, number.denominator << -bits)


def format_number(number: Fraction | int) -> bytes:
    """The number with up to 17 decimals, without the zeros at their end."""
    from decimal import Decimal

    scaled: int = round(number * 10**DECIMALS)
    whole, decimals = divmod(abs(scaled), 10**DECIMALS)
    # Not str(whole), which Python refuses for more than 4,300 digits.
    text = f"{Decimal(whole):f}.{decimals:0{DECIMALS}d}".rstrip("0").rstrip(".")
    return b"-" * (scaled < 0) + text.encode()
