"""Numbers of Lua, which are doubles, as texts, bits and bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from protocol import replies

_INTEGER_LIMIT = 1 << 62
_DOUBLE = struct.Struct("<d")


def as_argument(value: float) -> bytes:
    """The text of a number that a script passes to a command. Source: Redis 7.2 and later."""
    if value == value and value not in (float("inf"), float("-inf")):
        whole = int(value)
        if whole == value and -_INTEGER_LIMIT <= whole <= _INTEGER_LIMIT:
            return b"%d" % whole
    return shortest(value)


def shortest(value: float) -> bytes:
    """The shortest decimal text that reads back as `value`, with an exponent if that is shorter.

    Source: Redis 7.2 and later print scores of sorted sets like this.
    """
    if value != value:
        return b"nan"
    if value in (float("inf"), float("-inf")):
        return b"inf" if value > 0 else b"-inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text, minus = "".join(map(str, digits)), "-" if sign else ""
    magnitude = exponent + len(text) - 1
    if exponent >= 0 and magnitude < len(text) + 7:
        plain = text + "0" * exponent
    elif exponent < 0 and (exponent > -7 or abs(magnitude) < 4):
        padded = text.rjust(1 - exponent, "0")
        plain = f"{padded[:exponent]}.{padded[exponent:]}"
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        plain = f"{text[0]}{fraction}e{magnitude:+d}"
    return (minus + plain).encode()


def double_reply(value: float, resp: int) -> bytes:
    """The reply that a script's {double=...} stands for."""
    return replies.double(float(value), resp)


def sha1hex(text: bytes) -> bytes:
    """redis.sha1hex."""
    import hashlib  # it loads OpenSSL: not at the start

    return hashlib.sha1(text).hexdigest().encode()


# -- struct and cmsgpack -------------------------------------------------------------------------


def pack_float(layout: bytes, value: float) -> bytes:
    """A float as bytes, in the notation of Python's struct."""
    try:
        return struct.pack(layout.decode(), value)
    except OverflowError:
        return struct.pack(layout.decode(), float("inf") if value > 0 else float("-inf"))


def unpack_float(layout: bytes, data: bytes) -> float:
    """The float that bytes encode."""
    value: float = struct.unpack(layout.decode(), data)[0]
    return value


# -- bit -----------------------------------------------------------------------------------------


def _bits(value: float) -> int:
    """The low 32 bits of a number, rounded to the nearest integer, half to even."""
    # Added to this, a double has its integral part in its lowest bits, as in the library.
    return int.from_bytes(_DOUBLE.pack(value + 6755399441055744.0)[:4], "little")


def _signed(bits: int) -> int:
    bits &= 0xFFFFFFFF
    return bits - (1 << 32) if bits & 0x80000000 else bits


def _fold(combine: Callable[[int, int], int]) -> Callable[..., int]:
    def operation(first: float, *others: float) -> int:
        result = _bits(first)
        for other in others:
            result = combine(result, _bits(other))
        return _signed(result)

    return operation


def _shift(operate: Callable[[int, int], int]) -> Callable[[float, float], int]:
    return lambda value, count: _signed(operate(_bits(value), _bits(count) & 31))


BIT_OPERATIONS: dict[bytes, Callable[..., Any]] = {
    b"bit_tobit": lambda value: _signed(_bits(value)),
    b"bit_bnot": lambda value: _signed(~_bits(value)),
    b"bit_band": _fold(lambda a, b: a & b),
    b"bit_bor": _fold(lambda a, b: a | b),
    b"bit_bxor": _fold(lambda a, b: a ^ b),
    b"bit_lshift": _shift(lambda bits, count: bits << count),
    b"bit_rshift": _shift(lambda bits, count: bits >> count),
    b"bit_arshift": _shift(lambda bits, count: _signed(bits) >> count),
    b"bit_rol": _shift(lambda bits, count: bits << count | bits >> (32 - count)),
    b"bit_ror": _shift(lambda bits, count: bits >> count | bits << (32 - count)),
    b"bit_bswap": lambda value: _signed(int.from_bytes(_bits(value).to_bytes(4, "little"), "big")),
}
