"""commands/strings/long_double.py: 80-bit floats. What is expected is what redis-server answers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.strings.long_double import NotFinite, add, format_number, nearest, parse


def total(left: bytes, right: bytes) -> bytes:
    return format_number(add(parse(left), parse(right)))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (b"10.50", b"0.1", b"10.6"),
        (b"0.1", b"0.2", b"0.3"),
        (b"5.0e3", b"2.0e2", b"5200"),
        (b"3", b"1.000000000000000005", b"4.00000000000000001"),
        (b"1", b"-1", b"0"),
        (b"-0", b"-0", b"0"),
        (b"0", b"-1e-18", b"0"),
        (b"18446744073709551615", b"1", b"18446744073709551616"),
        (b"18446744073709551616", b"1", b"18446744073709551616"),
        (b"9007199254740993", b"0.25", b"9007199254740993.25"),
        (b"1e20", b"0.5", b"100000000000000000000"),
        (b"0x1.8p1", b"0X.8", b"3.5"),
    ],
)
def test_sums_are_rounded_to_64_bits_and_printed_with_17_decimals(
    left: bytes, right: bytes, expected: bytes
) -> None:
    assert total(left, right) == expected


def test_the_greatest_number_is_printed_in_full() -> None:
    greatest = ((1 << 64) - 1) << (16383 - 63)
    assert parse(b"0x1.fffffffffffffffep16383") == greatest
    text = format_number(Fraction(greatest))
    assert len(text) == 4933
    assert text.startswith(b"11897314953572317650")


@pytest.mark.parametrize(
    "text", [b"1", b"+1", b"1.", b"1.0", b".1e1", b"10e-1", b"0x1", b"0x.1p4", b"0001", b"1E0"]
)
def test_every_notation_of_c_is_read(text: bytes) -> None:
    assert parse(text) == 1


@pytest.mark.parametrize(
    "text",
    [b"", b".", b"e1", b"1e", b"1e+", b" 1", b"1 ", b"1\n", b"--1", b"1_0", b"0x", b"0xp1", b"1p1",
     b"nan", b"-nan", b"nan(1)", b"infinit", b"1,5", b"1\0", b"\xc2\xb2"],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="not a number"):
        parse(text)


@pytest.mark.parametrize("text", [b"inf", b"-INF", b"+Infinity"])
def test_infinity_is_read_as_such(text: bytes) -> None:
    with pytest.raises(NotFinite):
        parse(text)


@pytest.mark.parametrize(
    "text", [b"1e4933", b"-1e4933", b"1e99999999999999999999", b"0x1p16384", b"9" * 5000]
)
def test_a_number_that_is_too_great_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="too great"):
        parse(text)


@pytest.mark.parametrize(
    "text", [b"1e-4952", b"1e-99999999999999999999", b"0x1p-16446", b"-1e-5000"]
)
def test_a_number_that_is_too_small_is_refused_and_zero_is_not(text: bytes) -> None:
    with pytest.raises(ValueError, match="too small"):
        parse(text)
    assert parse(b"0e-99999999999999999999") == 0


def test_a_text_is_at_most_5_kib_long() -> None:
    assert parse(b"0" * 5118 + b"7") == 7
    with pytest.raises(ValueError, match="too long"):
        parse(b"0" * 5119 + b"7")


def test_a_sum_that_is_too_great_is_not_finite() -> None:
    greatest = parse(b"1.18973149535723176502e+4932")
    with pytest.raises(NotFinite):
        add(greatest, greatest)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_a_long_double_already(number: float) -> None:
    assert nearest(Fraction(number)) == Fraction(number)
    assert parse(number.hex().encode()) == Fraction(number)


@given(st.fractions())
def test_the_nearest_number_is_less_than_a_64th_bit_away(number: Fraction) -> None:
    rounded = nearest(number)
    assert abs(rounded - number) <= abs(number) / (1 << 64)
    assert nearest(rounded) == rounded


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 10**17 - 1))
def test_a_fixed_point_number_is_printed_as_it_is(whole: int, decimals: int) -> None:
    number = abs(whole) + Fraction(decimals, 10**17)
    text = format_number(-number if whole < 0 else number)
    assert Fraction(text.decode()) == (-number if whole < 0 else number)
    assert not text.endswith((b".", b"-0"))
