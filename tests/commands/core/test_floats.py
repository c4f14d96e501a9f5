"""commands/core/floats.py: numbers as C reads them."""

from __future__ import annotations

from math import inf

import pytest

from commands.core.floats import parse_double, parse_loose_double
from protocol.errors import ReplyError

NUMBERS = [
    (b"0", 0.0),
    (b"-0", 0.0),
    (b"1.5", 1.5),
    (b"+1.5", 1.5),
    (b".5", 0.5),
    (b"5.", 5.0),
    (b"-1e3", -1000.0),
    (b"1E+2", 100.0),
    (b"0e9999", 0.0),
    (b"0x10", 16.0),
    (b"-0X1.8p1", -3.0),
    (b"0x.8", 0.5),
    (b"0x0p5", 0.0),
    (b"inf", inf),
    (b"-INF", -inf),
    (b"+Infinity", inf),
    (b"5e-324", 5e-324),
]
NO_NUMBERS = [
    b"nan", b"x", b"1 ", b"1_0", b"1e", b"e5", b"0x", b"--1", b"1.5.2", b".", b"in", b"1,5",
    b" 1",
]  # fmt: skip


@pytest.mark.parametrize(("text", "number"), NUMBERS)
def test_a_number_is_read(text: bytes, number: float) -> None:
    assert parse_double(text) == number
    assert parse_loose_double(text) == (None if b"x" in text.lower() else number)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_refused(text: bytes) -> None:
    with pytest.raises(ReplyError, match="not a valid float"):
        parse_double(text)
    assert parse_loose_double(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"", 0.0),
        (b"1e400", inf),
        (b"-1e400", -inf),
        (b"1e-400", 0.0),
        (b"1\x00x", 1.0),
    ],
)
def test_a_bound_may_be_what_a_score_may_not(text: bytes, number: float) -> None:
    with pytest.raises(ReplyError):
        parse_double(text)
    assert parse_loose_double(text) == number


def test_the_error_may_be_another_one() -> None:
    with pytest.raises(ReplyError, match="weight"):
        parse_double(b"x", b"ERR weight value is not a float")
