"""INCR, DECR, INCRBY, DECRBY, INCRBYFLOAT."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NOT_AN_INTEGER, OK, WRONG_TYPE, Conversation

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


def test_counting_keeps_the_deadline(talk: Conversation) -> None:
    talk.all("SET k 10 EX 100", "INCR k", "INCRBYFLOAT k 0.5")
    assert talk.do("TTL k") == b":100\r\n"
    assert talk.do("GET k") == b"$4\r\n11.5\r\n"


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


def test_the_ends_of_the_range_are_reached(talk: Conversation) -> None:
    assert talk.do("INCRBY k 9223372036854775807") == b":9223372036854775807\r\n"
    assert talk.do("SET k 0") == OK
    assert talk.do("INCRBY k -9223372036854775808") == b":-9223372036854775808\r\n"
    assert talk.do("INCRBY k 9223372036854775807") == b":-1\r\n"


def test_a_string_that_was_changed_in_place_counts_too(talk: Conversation) -> None:
    talk.all("SET k 1", "APPEND k 0", "SETRANGE k 0 2")
    assert talk.do("INCR k") == b":21\r\n"


@pytest.mark.parametrize("request_", ["INCR s", "INCRBY s 1", "INCRBYFLOAT s x"])
def test_a_stream_is_no_number(talk: Conversation, request_: str) -> None:
    talk.all("XADD s 1-1 f v")
    assert talk.do(request_) == WRONG_TYPE


def test_a_float_is_propagated_as_its_result(talk: Conversation) -> None:
    assert talk.do("INCRBYFLOAT k 10.50") == b"$4\r\n10.5\r\n"
    assert talk.events() == ["new k", "incrbyfloat k"]
    assert talk.do("INCRBYFLOAT k 0.1") == b"$4\r\n10.6\r\n"
    assert talk.propagated() == ["SET k 10.5 KEEPTTL", "SET k 10.6 KEEPTTL"]


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


def test_a_float_that_is_whole_can_be_counted_on(talk: Conversation) -> None:
    talk.all("INCRBYFLOAT k 3")
    assert talk.do("INCR k") == b":4\r\n"
