"""Numbers of Lua as texts, bits and bytes."""

from __future__ import annotations

import pytest

from commands.scripting import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, b"3"), (-5, b"-5"), (2.0**62, b"4611686018427387904"), (1e15, b"1000000000000000"),
        (0.1, b"0.1"), (1e300, b"1e+300"), (3.5e-7, b"3.5e-7"), (1.5, b"1.5"), (-0.25, b"-0.25"),
        (1e21, b"1e+21"), (2.0**63, b"9223372036854776000"), (float("inf"), b"inf"),
        (float("-inf"), b"-inf"), (float("nan"), b"nan"), (123456.789, b"123456.789"),
    ],
)  # fmt: skip
def test_the_text_of_a_number_is_that_of_redis(value: float, text: bytes) -> None:
    assert numbers.as_argument(value) == text


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        (b"bit_band", (0xFF, 0x0F), 15), (b"bit_bor", (1, 2, 4), 7), (b"bit_bxor", (5, 1), 4),
        (b"bit_bnot", (0,), -1), (b"bit_lshift", (1, 31), -(1 << 31)), (b"bit_lshift", (1, 32), 1),
        (b"bit_rshift", (-1, 28), 15), (b"bit_arshift", (-16, 2), -4),
        (b"bit_rol", (0x12345678, 12), 0x45678123), (b"bit_ror", (0x12345678, 12), 0x67812345),
        (b"bit_bswap", (0x12345678,), 0x78563412), (b"bit_tobit", (0xFFFFFFFF,), -1),
        (b"bit_tobit", (2.5,), 2), (b"bit_tobit", (2.0**32 + 7,), 7),
    ],
)  # fmt: skip
def test_bit_operations_have_signed_32_bit_results(
    name: bytes, arguments: tuple[float, ...], result: int
) -> None:
    assert numbers.BIT_OPERATIONS[name](*arguments) == result


def test_floats_that_are_too_large_are_infinite_in_few_bytes() -> None:
    packed = numbers.pack_float(b">f", 1e300)
    assert numbers.unpack_float(b">f", packed) == float("inf")


def test_sha1hex() -> None:
    assert numbers.sha1hex(b"abc") == b"a9993e364706816aba3e25717850c26c9cd0d89d"


def test_doubles_as_replies() -> None:
    assert numbers.double_reply(3.5, 3) == b",3.5\r\n"
    assert numbers.double_reply(3.5, 2) == b"$3\r\n3.5\r\n"
