"""HINCRBY and HINCRBYFLOAT. Replies of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NOT_AN_INTEGER, Conversation


def test_a_field_that_is_not_there_counts_as_0(talk: Conversation) -> None:
    assert talk.do("HINCRBY h n 5") == b":5\r\n"
    assert talk.events() == ["new h", "hincrby h"]
    assert talk.propagated() == ["HINCRBY h n 5"]
    assert talk.do("HINCRBY h n -7") == b":-2\r\n"
    assert talk.do("HINCRBYFLOAT h f 10.50") == b"$4\r\n10.5\r\n"
    assert talk.do("HINCRBYFLOAT h f 0.1") == b"$4\r\n10.6\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("HINCRBY h text 1", "ERR hash value is not an integer"),
        ("HINCRBY h float 1", "ERR hash value is not an integer"),
        ("HINCRBY h max 1", "ERR increment or decrement would overflow"),
        ("HINCRBYFLOAT h text 1", "ERR hash value is not a float"),
        ("HINCRBYFLOAT h max x", "ERR value is not a valid float"),
        ("HINCRBYFLOAT h max nan", "ERR value is not a valid float"),
        ("HINCRBYFLOAT h max inf", "ERR value is NaN or Infinity"),
        ("HINCRBYFLOAT h inf 1", "ERR increment would produce NaN or Infinity"),
    ],
)
def test_what_is_no_number_is_refused(talk: Conversation, request_: str, error: str) -> None:
    talk.all("HSET h text abc float 1.5 inf inf max 9223372036854775807")
    before = talk.do("HGETALL h")
    assert talk.do(request_) == f"-{error}\r\n".encode()
    assert talk.do("HGETALL h") == before
    assert (talk.events(), talk.propagated()) == ([], [])


def test_an_increment_is_an_integer(talk: Conversation) -> None:
    assert talk.do("HINCRBY h n 1.5") == NOT_AN_INTEGER


def test_a_sum_of_floats_is_propagated_as_it_is(talk: Conversation) -> None:
    talk.do("HINCRBYFLOAT h f 3.0e3")
    assert talk.propagated() == ["HSET h f 3000"]
    assert talk.events() == ["new h", "hincrbyfloat h"]
    talk.all("HEXPIRE h 10 FIELDS 1 f")
    talk.do("HINCRBYFLOAT h f 1")
    assert talk.propagated() == [
        "MULTI",
        "HSET h f 3001",
        f"HPEXPIREAT h {talk.server.now_ms + 10_000} FIELDS 1 f",
        "EXEC",
    ]


def test_counting_keeps_the_time(talk: Conversation) -> None:
    talk.all("HSET h n 1", "HEXPIRE h 10 FIELDS 1 n", "HINCRBY h n 1", "HINCRBYFLOAT h n 1")
    assert talk.do("HTTL h FIELDS 1 n") == b"*1\r\n:10\r\n"
    talk.server.now_ms += 10_001
    assert talk.do("HINCRBY h n 1") == b":1\r\n"
    assert talk.do("HTTL h FIELDS 1 n") == b"*1\r\n:-1\r\n"
