"""INCR, DECR, INCRBY, DECRBY, INCRBYFLOAT."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NOT_AN_INTEGER, Conversation

OVERFLOW = b"-ERR increment or decrement would overflow\r\n"
NOT_A_FLOAT = b"-ERR value is not a valid float\r\n"
NOT_FINITE = b"-ERR increment would produce NaN or Infinity\r\n"


@pytest.mark.parametrize(
    ("request_", "result"), [("INCR k", 1), ("DECR k", -1), ("INCRBY k 5", 5), ("DECRBY k -5", 5)]
)
def test_a_key_that_is_not_there_counts_as_0(
    talk: Conversation, request_: str, result: int
) -> None:
    assert talk.do(request_) == b":%d\r\n" % result
    assert talk.events() == ["new k", "incrby k"]
    assert talk.propagated() == [request_]
    assert talk.do(request_) == b":%d\r\n" % (2 * result)


@pytest.mark.parametrize(
    ("value", "request_", "reply"),
    [
        ("9223372036854775807", "INCR k", OVERFLOW),
        ("-9223372036854775808", "DECR k", OVERFLOW),
        ("-1", "INCRBY k -9223372036854775808", OVERFLOW),
        ("-1", "DECRBY k -9223372036854775808", b"-ERR decrement would overflow\r\n"),
        ("9223372036854775807", "DECRBY k -1", OVERFLOW),
        ("1", "INCRBY k 1.5", NOT_AN_INTEGER),
        ("1", "INCRBY k 9223372036854775808", NOT_AN_INTEGER),
        ("01", "INCR k", NOT_AN_INTEGER),
        ("''", "INCR k", NOT_AN_INTEGER),
        ("'1 '", "INCR k", NOT_AN_INTEGER),
    ],
)
def test_a_sum_that_is_no_64_bit_integer_changes_nothing(
    talk: Conversation, value: str, request_: str, reply: bytes
) -> None:
    talk.all(f"SET k {value}")
    before = talk.do("GET k")
    assert talk.do(request_) == reply
    assert talk.do("GET k") == before
    assert (talk.events(), talk.propagated()) == ([], [])


@pytest.mark.parametrize(
    ("value", "increment", "reply"),
    [
        ("x", "1", NOT_A_FLOAT),
        ("1", "x", NOT_A_FLOAT),
        ("1", "nan", NOT_A_FLOAT),
        ("inf", "x", NOT_A_FLOAT),
        ("1", "inf", NOT_FINITE),
        ("-inf", "1", NOT_FINITE),
        ("1e4932", "1e4932", NOT_FINITE),
        ("1", "1e5000", NOT_A_FLOAT),
        ("''", "1", NOT_A_FLOAT),
    ],
)
def test_a_float_sum_that_is_no_number_changes_nothing(
    talk: Conversation, value: str, increment: str, reply: bytes
) -> None:
    talk.all(f"SET k {value}")
    before = talk.do("GET k")
    assert talk.do(f"INCRBYFLOAT k {increment}") == reply
    assert talk.do("GET k") == before
    assert (talk.events(), talk.propagated()) == ([], [])
