"""commands/core/arguments.py: the cursor over a request's words."""

from __future__ import annotations

from math import inf

import pytest

from commands.core.arguments import (
    Arguments,
    parse_deadline,
    parse_double,
    parse_int,
    parse_loose_double,
)
from protocol import errors
from protocol.errors import ReplyError
from protocol.request import Request


@pytest.mark.parametrize("text", [b"", b"+1", b"01", b"-0", b" 1", b"1 ", b"1.0", b"9" * 19, b"x"])
def test_a_text_that_is_no_canonical_int64_is_refused(text: bytes) -> None:
    with pytest.raises(ReplyError) as refused:
        parse_int(text)
    assert refused.value.text == errors.NOT_AN_INTEGER


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63)])
def test_every_int64_is_accepted(number: int) -> None:
    assert parse_int(b"%d" % number) == number


def test_bounds_have_the_error_of_the_caller() -> None:
    with pytest.raises(ReplyError) as refused:
        parse_int(b"-1", errors.TIMEOUT_NEGATIVE, minimum=0)
    assert refused.value.text == errors.TIMEOUT_NEGATIVE


@pytest.mark.parametrize("amount", [b"0", b"-1", b"9223372036854775807", b"9223372036854776"])
def test_a_deadline_must_lie_ahead_and_have_64_bits(amount: bytes) -> None:
    with pytest.raises(ReplyError, match="invalid expire time in 'setex' command"):
        parse_deadline(amount, 1000, 1_700_000_000_000, b"setex")


def test_an_amount_must_be_an_integer() -> None:
    with pytest.raises(ReplyError, match="not an integer"):
        parse_deadline(b"1.5", 1000, 1_700_000_000_000, b"setex")


def test_a_deadline_may_lie_in_the_past_where_the_caller_says_so() -> None:
    assert parse_deadline(b"-5", 1000, 7000, b"expire", -100) == 2000
    assert parse_deadline(b"-9223372036854775808", 1, 5, b"pexpire", -(2**63)) == 5 - 2**63


def test_keywords_are_found_in_any_case() -> None:
    args = Arguments(Request([b"XADD", b"maxlen", b"5"]), 1)
    assert args.take(b"MAXLEN")
    assert args.next_int() == 5
    assert not args


def test_a_missing_word_is_a_syntax_error() -> None:
    with pytest.raises(ReplyError, match="syntax error"):
        Arguments(Request([b"XTRIM"]), 1).next_int()


def test_words_that_are_left_are_a_syntax_error() -> None:
    args = Arguments(Request([b"XLEN", b"k", b"more"]), 2)
    assert args.remaining == 1
    with pytest.raises(ReplyError, match="syntax error"):
        args.finish()


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
