"""HGETDEL, HGETEX, HSETEX. Source: Redis 8.0 to 8.10."""

from __future__ import annotations

import pytest

from tests.commands.hashes.test_hexpire import (
    FIELD_COUNT,
    MISMATCH,
    MISSING,
    NEGATIVE,
    ints,
)
from tests.commands.keys.conversation import NOT_AN_INTEGER, NOW_MS, Conversation

TWO = b"*2\r\n$1\r\n1\r\n$-1\r\n"


@pytest.fixture
def talk(talk: Conversation) -> Conversation:
    talk.all("HSET h a 1 b 2")
    return talk


# -- HGETDEL -------------------------------------------------------------------------------------


def test_fields_are_read_and_removed(talk: Conversation) -> None:
    assert talk.do("HGETDEL h FIELDS 2 a x") == TWO
    assert (talk.events(), talk.propagated()) == (["hdel h"], ["HDEL h a x"])
    assert talk.do("HGETDEL h FIELDS 2 a x") == b"*2\r\n$-1\r\n$-1\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("HGETDEL h FIELDS 2 b b") == b"*2\r\n$1\r\n2\r\n$-1\r\n"
    assert talk.events() == ["hdel h", "del h"]
    assert talk.do("HGETDEL h FIELDS 1 b") == b"*1\r\n$-1\r\n"


# -- HGETEX --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "when_ms"),
    [
        ("EX 5", NOW_MS + 5000),
        ("px 5", NOW_MS + 5),
        (f"EXAT {NOW_MS // 1000 + 1}", NOW_MS + 1000),
        (f"PXAT {NOW_MS + 3}", NOW_MS + 3),
    ],
)
def test_fields_are_read_and_get_a_time(talk: Conversation, option: str, when_ms: int) -> None:
    assert talk.do(f"HGETEX h {option} FIELDS 2 a x") == TWO
    assert talk.events() == ["hexpire h"]
    assert talk.propagated() == [f"HPEXPIREAT h {when_ms} FIELDS 1 a"]
    assert talk.do(f"HGETEX h FIELDS 2 a x {option}") == TWO
    assert talk.do("HPEXPIRETIME h FIELDS 2 a b") == ints(when_ms, -1)


def test_fields_are_read_and_lose_their_time(talk: Conversation) -> None:
    talk.all("HEXPIRE h 5 FIELDS 1 a")
    assert talk.do("HGETEX h PERSIST FIELDS 2 a x") == TWO
    assert (talk.events(), talk.propagated()) == (["hpersist h"], ["HPERSIST h FIELDS 1 a"])
    assert talk.do("HGETEX h PERSIST FIELDS 2 a x") == TWO
    assert talk.do("HGETEX h FIELDS 2 a x") == TWO
    assert (talk.events(), talk.propagated()) == ([], [])


def test_a_time_that_has_come_removes_what_is_read(talk: Conversation) -> None:
    assert talk.do("HGETEX h EX 0 FIELDS 3 a b x") == b"*3\r\n$1\r\n1\r\n$1\r\n2\r\n$-1\r\n"
    assert talk.events() == ["hdel h", "del h"]
    assert talk.propagated() == ["MULTI", "HDEL h a", "HDEL h b", "EXEC"]
    assert talk.do("HGETEX h EX 5 FIELDS 1 a") == b"*1\r\n$-1\r\n"


# -- HSETEX --------------------------------------------------------------------------------------


def test_fields_are_set_with_a_time(talk: Conversation) -> None:
    assert talk.do("HSETEX h EX 5 FIELDS 2 a 9 c 3") == b":1\r\n"
    assert talk.events() == ["hset h", "hexpire h"]
    assert talk.propagated() == [
        "MULTI",
        "HSET h a 9 c 3",
        f"HPEXPIREAT h {NOW_MS + 5000} FIELDS 2 a c",
        "EXEC",
    ]
    assert talk.do("HMGET h a c") == b"*2\r\n$1\r\n9\r\n$1\r\n3\r\n"
    assert talk.do("HTTL h FIELDS 3 a b c") == ints(5, -1, 5)
    assert talk.do("HSETEX new PX 5 FIELDS 1 a 1") == b":1\r\n"
    assert talk.events() == ["new new", "hset new", "hexpire new"]
    talk.server.advance(6)
    assert talk.do("EXISTS new") == b":0\r\n"


def test_a_time_goes_unless_it_is_kept(talk: Conversation) -> None:
    talk.all("HEXPIRE h 5 FIELDS 2 a b")
    assert talk.do("HSETEX h KEEPTTL FIELDS 1 a 9") == b":1\r\n"
    assert talk.do("HSETEX h FIELDS 1 b 9") == b":1\r\n"
    assert talk.do("HTTL h FIELDS 2 a b") == ints(5, -1)
    assert talk.events() == ["hset h", "hset h"]
    assert talk.propagated() == [
        "MULTI",
        "HSET h a 9",
        f"HPEXPIREAT h {NOW_MS + 5000} FIELDS 1 a",
        "EXEC",
        "HSET h b 9",
    ]


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("HSETEX h FNX FIELDS 2 x 1 y 1", 1),
        ("HSETEX h FNX FIELDS 2 x 1 a 1", 0),
        ("HSETEX h fxx FIELDS 2 a 5 b 5", 1),
        ("HSETEX h FXX FIELDS 2 a 5 x 5", 0),
        ("HSETEX no FXX FIELDS 1 a 5", 0),
        ("HSETEX no FNX EX 5 FIELDS 1 a 5", 1),
        ("HSETEX no FIELDS 1 a 5 FNX EX 5", 1),
    ],
)
def test_all_fields_are_set_or_none(talk: Conversation, request_: str, reply: int) -> None:
    before = talk.do("HGETALL h")
    assert talk.do(request_) == b":%d\r\n" % reply
    if not reply:
        assert talk.do("HGETALL h") == before
        assert (talk.events(), talk.propagated()) == ([], [])


def test_a_field_with_a_deadline_in_the_past_is_removed(talk: Conversation) -> None:
    assert talk.do("HSETEX h PXAT 1 FIELDS 2 a 9 c 9") == b":1\r\n"
    assert talk.events() == ["hset h", "hdel h"]
    assert talk.propagated() == ["MULTI", "HDEL h a", "HDEL h c", "EXEC"]
    assert talk.do("HGETALL h") == b"*2\r\n$1\r\nb\r\n$1\r\n2\r\n"
    assert talk.do("HSETEX no PXAT 1 FIELDS 1 a 9") == b":1\r\n"
    assert talk.do("EXISTS no") == b":0\r\n"


ARITY = b"-ERR wrong number of arguments for 'hsetex' command\r\n"
CONDITIONS = b"-ERR Only one of FXX or FNX arguments can be specified\r\n"
TIMES = b"-ERR Only one of EX, PX, EXAT, PXAT or %b arguments can be specified\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("HGETDEL h FIELD 1 a", MISSING),
        ("HGETDEL h FIELDS 0 a", FIELD_COUNT),
        ("HGETDEL h FIELDS 2 a", MISMATCH),
        ("HGETEX h EX 5 PX 5 FIELDS 1 a", TIMES % b"PERSIST"),
        ("HGETEX h PERSIST EX 5 FIELDS 1 a", TIMES % b"PERSIST"),
        ("HGETEX h EX x FIELDS 1 a", NOT_AN_INTEGER),
        ("HGETEX h EX -1 FIELDS 1 a", NEGATIVE),
        ("HGETEX h FIELDS 1 a EX", b"-ERR missing expire time\r\n"),
        ("HGETEX h FIELDS 2 a", MISMATCH),
        ("HGETEX h FIELDS 0 a", FIELD_COUNT),
        ("HGETEX h FIELDS 1 a b", MISMATCH),
        ("HGETEX h FOO FIELDS 1 a", b"-ERR unknown argument: FOO\r\n"),
        ("HGETEX h EX 5 PERSI 1 a", b"-ERR unknown argument: PERSI\r\n"),
        ("HGETEX h FIELDS 1 a FIELDS 1 b", b"-ERR FIELDS keyword specified multiple times\r\n"),
        ("HSETEX h FIELDS 2 a 1 b", ARITY),
        ("HSETEX h FIELDS 1 a 1 b", ARITY),
        ("HSETEX h FIELDS 0 a 1", b"-ERR invalid number of fields\r\n"),
        ("HSETEX h FIELDS x a 1", b"-ERR invalid number of fields\r\n"),
        ("HSETEX h FNX FXX FIELDS 1 a 1", CONDITIONS),
        ("HSETEX h EX 5 KEEPTTL FIELDS 1 a 1", TIMES % b"KEEPTTL"),
        ("HSETEX h EX 99999999999999 FIELDS 1 a 1",
         b"-ERR invalid expire time in 'hsetex' command\r\n"),
        ("HSETEX h PERSIST FIELDS 1 a 1", b"-ERR unknown argument: PERSIST\r\n"),
        ("HSETEX h FIELDS 1 a 1 EX", b"-ERR missing expire time\r\n"),
        ("HSETEX h FIELDS 1 a 1 FIELDS 1 a 1", b"-ERR FIELDS keyword specified multiple times\r\n"),
        ("HSETEX h KEEPTTL FNX EX 5", TIMES % b"KEEPTTL"),
        ("HSETEX h EX 5 FNX FNX", CONDITIONS),
    ],
)  # fmt: skip
def test_wrong_requests_change_nothing(talk: Conversation, request_: str, error: bytes) -> None:
    before = talk.do("HGETALL h")
    assert talk.do(request_) == error
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("HGETALL h") == before
